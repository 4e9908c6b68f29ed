//! Several changes, together or not at all: read, decide, plan, commit; again if others were faster.
//! Touches one transaction, and a second one before it that marks what is to be deleted. A deletion
//! that does not fit is handed to `background`.

use keyloom_model::{IdSource, Image, OwnRow};
use keyloom_query::DeletionState;
use keyloom_store::Error as StoreError;

use super::admit::Decision;
use super::cascade::{Cascade, Expansion};
use super::commit::Outcome;
use super::settle::{Hidden, SettledReader};
use super::tombstone::{self, Marked};
use super::write_set::{Footprint, WriteSet};
use super::{
    ACTIONS_MAX, AttemptState, Difference, Done, IdempotencyKey, Intent, PlannedAction,
    WriteContext,
};
use crate::background::{LargeDeletion, delete_in_background};
use crate::error::Error;

/// What is to be written together.
#[derive(Debug, Default)]
pub(crate) struct WriteRequest {
    pub(crate) intents: Vec<Intent>,
    /// Under which it happens once.
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    /// Rows that are written with the changes or not at all.
    pub(crate) piggybacked: Vec<PlannedAction>,
}

impl From<Intent> for WriteRequest {
    fn from(intent: Intent) -> WriteRequest {
        WriteRequest::from(vec![intent])
    }
}

impl From<Vec<Intent>> for WriteRequest {
    fn from(intents: Vec<Intent>) -> WriteRequest {
        WriteRequest { intents, ..WriteRequest::default() }
    }
}

impl WriteRequest {
    /// The actions that are written besides those of the intents.
    pub(crate) fn others(
        &self,
        ctx: &WriteContext<'_>,
        answers: &[Option<&Image>],
    ) -> Result<Vec<PlannedAction>, Error> {
        let mut others = self.piggybacked.clone();
        if let Some(key) = &self.idempotency_key {
            others.push(key.record(ctx, answers)?);
        }
        Ok(others)
    }
}

/// What became of an intent.
#[derive(Debug)]
pub(crate) struct Executed {
    /// The version that the entity had; none if there was none, or a large deletion took it.
    pub(crate) version_before: Option<String>,
    /// What the entity is afterwards.
    pub(crate) after: Option<Image>,
}

impl Executed {
    /// That of one that is gone.
    const GONE: Executed = Executed { version_before: None, after: None };

    /// The version that the entity has afterwards.
    pub(crate) fn version_after(&self) -> Option<&str> {
        self.after.as_ref().map(|image| image.version.as_str())
    }
}

/// Makes requests happen.
pub(crate) struct Executor<'a> {
    ctx: WriteContext<'a>,
}

impl<'a> Executor<'a> {
    pub(crate) fn new(ctx: WriteContext<'a>) -> Executor<'a> {
        Executor { ctx }
    }

    /// Makes all intents happen together; for each, what became of it.
    pub(crate) async fn execute(&self, request: &WriteRequest) -> Result<Vec<Executed>, Error> {
        self.check_distinct(&request.intents)?;
        let assumes_new = request.intents.iter().all(|intent| self.has_generated_id(intent));
        let mut state = AttemptState { assumes_new, ..AttemptState::default() };
        let executed = self.attempt_until_done(request, &mut state).await;
        if executed.is_err() {
            tombstone::abandon(&self.ctx, &mut state).await;
        }
        executed
    }

    async fn attempt_until_done(
        &self,
        request: &WriteRequest,
        state: &mut AttemptState,
    ) -> Result<Vec<Executed>, Error> {
        let mut attempts = self.ctx.attempts();
        loop {
            attempts.next().await?;
            if let Some(executed) = self.attempt(request, state).await? {
                return Ok(executed);
            }
            state.assumes_new = false;
        }
    }

    /// The same for entities that are most likely not there: they are not read, as long as none is
    /// found by the conditions of the transaction.
    pub(crate) async fn execute_new(&self, request: &WriteRequest) -> Result<Vec<Executed>, Error> {
        self.check_distinct(&request.intents)?;
        let mut state = AttemptState { assumes_new: true, ..AttemptState::default() };
        match self.attempt(request, &mut state).await {
            Ok(Some(executed)) => Ok(executed),
            Err(Error::Store(error)) if !matches!(error, StoreError::Invalid(_)) => {
                Err(error.into())
            }
            // One is there, or something is wrong that may be right if one is.
            Ok(None) | Err(_) => self.execute(request).await,
        }
    }

    /// Makes all intents happen together, unless they have under the same key.
    pub(crate) async fn execute_idempotent(
        &self,
        intents: Vec<Intent>,
        key: IdempotencyKey,
    ) -> Result<Done, Error> {
        if let Some(images) = key.look_up(&self.ctx, &intents).await? {
            return Ok(Done::Before(images));
        }
        let request =
            WriteRequest { intents, idempotency_key: Some(key.clone()), ..WriteRequest::default() };
        match self.execute(&request).await {
            Ok(executed) => Ok(Done::Now(executed.into_iter().map(|done| done.after).collect())),
            // What stands in the way may be that they have happened meanwhile.
            Err(error) => match key.look_up(&self.ctx, &request.intents).await? {
                Some(images) => Ok(Done::Before(images)),
                None => Err(error),
            },
        }
    }

    /// What an attempt would write. Nothing is written, and no ordinal is taken.
    pub(crate) async fn rehearse(&self, intents: &[Intent]) -> Result<Difference, Error> {
        self.check_distinct(intents)?;
        let (mut writes, mut state) = (WriteSet::default(), AttemptState::default());
        // Each that would get an ordinal gets another one here, so that no two are taken for one.
        for (intent, ordinal) in intents.iter().zip(0..) {
            let before = self.ctx.reader().get_any(intent.key()).await?;
            let is_seen = |row: &OwnRow| row.deletion.is_none() && !self.ctx.is_expired(row);
            let before = before.filter(is_seen);
            if let Decision::Change(mut transition) = self.ctx.admission().decide(intent, before)? {
                if let Some(after) = &mut transition.after
                    && self.ctx.layouts.current.model().entity(after.key.entity).is_numbered()
                {
                    after.number = after.number.or(Some(ordinal));
                }
                writes.add(self.ctx.own_key(intent.key()), *transition);
            }
        }
        let expansion = Cascade::new(self.ctx, &mut writes).expand(&mut state).await?;
        let difference = self.ctx.planner(&[]).plan(writes.transitions())?;
        match expansion {
            Expansion::Whole => Ok(difference),
            Expansion::TooMany | Expansion::InDoubt => {
                Err(Error::TooLarge { rows: difference.rows_max(), rows_max: ACTIONS_MAX })
            }
        }
    }

    /// One attempt; none if what was read has changed meanwhile.
    async fn attempt(
        &self,
        request: &WriteRequest,
        state: &mut AttemptState,
    ) -> Result<Option<Vec<Executed>>, Error> {
        let mut footprint = self.decide(&request.intents, state).await?;
        let fits = match Cascade::new(self.ctx, &mut footprint.writes).expand(state).await? {
            Expansion::Whole => self.fits(request, &footprint.writes)?,
            Expansion::TooMany => false,
            Expansion::InDoubt => return Ok(None),
        };
        if !fits {
            tombstone::abandon(&self.ctx, state).await;
            return self.delete_large(request, &footprint.writes).await.map(Some);
        }
        let executed = self.executed(&request.intents, &footprint);
        let answers: Vec<Option<&Image>> =
            executed.iter().map(|done| done.after.as_ref()).collect();
        let others = request.others(&self.ctx, &answers)?;
        if tombstone::mark(&self.ctx, &footprint.writes, state).await? == Marked::Now {
            return Ok(None);
        }
        let is_done = self.commit(&footprint, others, state).await?;
        Ok(is_done.then_some(executed))
    }

    /// Reads what each intent is about, and decides what becomes of it.
    async fn decide(
        &self,
        intents: &[Intent],
        state: &mut AttemptState,
    ) -> Result<Footprint, Error> {
        let mut footprint = Footprint::default();
        for intent in intents {
            let before = match state.assumes_new {
                true => None,
                false => SettledReader::new(self.ctx).read_for(intent, state).await?,
            };
            let decision = match (intent, before) {
                // It has more time than it had.
                (Intent::Expire { .. }, Some(row)) if !self.ctx.is_expired(&row) => {
                    Decision::Unchanged(Some(row))
                }
                (intent, before) => self.ctx.admission().decide(intent, before)?,
            };
            match decision {
                Decision::Change(mut transition) => {
                    self.ctx.assign_ordinal(&mut transition).await?;
                    footprint.writes.add(self.ctx.own_key(intent.key()), *transition);
                }
                Decision::Unchanged(row) => footprint.reads.extend(row),
            }
        }
        Ok(footprint)
    }

    /// Whether everything that takes part goes into one transaction, with the end of its deletion
    /// record and the actions that go with it.
    fn fits(&self, request: &WriteRequest, writes: &WriteSet) -> Result<bool, Error> {
        // What is wrong with a transaction that nothing was added to is reported by its commit.
        if writes.transitions().len() <= request.intents.len() {
            return Ok(true);
        }
        let difference = self.ctx.planner(&[]).plan(writes.transitions())?;
        let keys = usize::from(request.idempotency_key.is_some());
        Ok(difference.fits(1 + keys + request.piggybacked.len()))
    }

    /// A deletion that does not fit into one transaction. Nothing can be changed together with it.
    async fn delete_large(
        &self,
        request: &WriteRequest,
        writes: &WriteSet,
    ) -> Result<Vec<Executed>, Error> {
        match &request.intents[..] {
            [Intent::Delete { key, expected }] => {
                let large = LargeDeletion { root: key, expected: expected.as_deref(), request };
                delete_in_background(&self.ctx, large).await?;
                Ok(vec![Executed::GONE])
            }
            [Intent::Expire { key }] => {
                // What was changed since it was read may have more time, or be gone.
                let read = writes.transitions().iter().find(|member| member.key == *key);
                let version = read.and_then(|member| member.before.as_ref());
                let expected = version.map(|before| before.image.version.as_str());
                let large = LargeDeletion { root: key, expected, request };
                match delete_in_background(&self.ctx, large).await {
                    Ok(()) | Err(Error::VersionMismatch { .. } | Error::NotFound { .. }) => {
                        Ok(vec![Executed::GONE])
                    }
                    Err(error) => Err(error),
                }
            }
            _ => {
                let rows = self.ctx.planner(&[]).plan(writes.transitions())?.rows_max();
                Err(Error::TooLarge { rows, rows_max: ACTIONS_MAX })
            }
        }
    }

    /// For each intent, what became of it.
    fn executed(&self, intents: &[Intent], footprint: &Footprint) -> Vec<Executed> {
        let version = |row: &OwnRow| row.image.version.clone();
        // What others do to an entity of the same transaction counts: take it from the write set.
        let executed = |intent: &Intent| match footprint.writes.get(&self.ctx.own_key(intent.key()))
        {
            Some(member) => Executed {
                version_before: member.before.as_ref().map(version),
                after: member.after.clone(),
            },
            None => {
                let row = footprint.reads.iter().find(|row| row.image.key == *intent.key());
                Executed {
                    version_before: row.map(version),
                    after: row.map(|row| self.ctx.layouts.upgraded(row.clone())),
                }
            }
        };
        intents.iter().map(executed).collect()
    }

    /// Commits everything; false if what was read has changed meanwhile.
    async fn commit(
        &self,
        footprint: &Footprint,
        others: Vec<PlannedAction>,
        state: &mut AttemptState,
    ) -> Result<bool, Error> {
        if footprint.writes.transitions().is_empty() && others.is_empty() {
            return Ok(true);
        }
        let ctx = &self.ctx;
        let mut difference = ctx.planner(&state.called_off).plan_transaction(footprint)?;
        let record = state.deletion.as_ref();
        let end = record.map(|record| record.remove(ctx.table, DeletionState::Marking));
        difference.actions.extend(end);
        difference.actions.extend(others);
        match ctx.commit_difference(difference).await? {
            Outcome::Done => {
                state.end_deletion();
                Ok(true)
            }
            Outcome::Changed => {
                tombstone::forget_called_off(ctx, state).await?;
                Ok(false)
            }
            Outcome::UniqueViolation(conflict) => {
                SettledReader::new(*ctx).make_room(conflict, state).await?;
                Ok(false)
            }
            // What is in the transaction itself is missed there first.
            Outcome::TargetGone { target, .. }
                if footprint.reads.iter().any(|row| row.image.key == target) =>
            {
                Ok(false)
            }
            Outcome::TargetGone { owner, field, target } => {
                match SettledReader::new(*ctx).read_with(&target, state, Hidden::Leave).await? {
                    // It is back, or its tombstone was one of a deletion that is called off now.
                    Some(row) if !ctx.is_expired(&row) => Ok(false),
                    Some(_) | None => Err(ctx.layouts.target_gone(&owner, field, &target)),
                }
            }
        }
    }

    /// Whether an intent creates an entity whose id was just generated: nothing can be there, so the
    /// first attempt does not read it. The condition of its put holds all the same.
    fn has_generated_id(&self, intent: &Intent) -> bool {
        match intent {
            Intent::Create { key, .. } => {
                let entity = self.ctx.layouts.current.model().entity(key.entity);
                entity.id_source == IdSource::Generated
            }
            Intent::Update { .. }
            | Intent::Put { .. }
            | Intent::Import { .. }
            | Intent::Delete { .. }
            | Intent::Expire { .. } => false,
        }
    }

    fn check_distinct(&self, intents: &[Intent]) -> Result<(), Error> {
        let mut keys: Vec<_> =
            intents.iter().map(|intent| self.ctx.own_key(intent.key())).collect();
        keys.sort();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => {
                let key = self.ctx.layouts.current.entity_key(pair[0].partition.as_bytes());
                Err(Error::SameTwice { id: key.map(|key| key.id).unwrap_or_default() })
            }
        }
    }
}
