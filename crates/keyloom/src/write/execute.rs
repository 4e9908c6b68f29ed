//! Executes several changes, all or none: read, decide, plan, commit; retry if a row has changed.
//! Writes one transaction, and one before it that marks what is to be deleted. Hands a deletion that
//! does not fit to `background`.

use keyloom_model::{EntityKey, IdSource, Image, OwnRow};
use keyloom_query::DeletionState;
use keyloom_store::Error as StoreError;

use super::admit::Decision;
use super::cascade::{Cascade, Expansion};
use super::commit::Outcome;
use super::settle::{Hidden, SettledReader};
use super::tombstone::{self, Marked};
use super::write_set::{Footprint, WriteSet};
use super::{
    ACTIONS_MAX, AttemptState, Difference, Done, Existence, IdempotencyKey, Intent, PlannedAction,
    Transition, Turn, WriteContext, WriteRequest, once_begun,
};
use crate::access::Rules;
use crate::background::{LargeDeletion, delete_in_background};
use crate::error::Error;

/// The result of an intent.
#[derive(Debug)]
pub(crate) struct Executed {
    /// The version before; none if the entity did not exist, or a large deletion removed it.
    pub(crate) version_before: Option<String>,
    /// The entity afterwards.
    pub(crate) after: Option<Image>,
}

impl Executed {
    /// The result of a large deletion.
    const GONE: Executed = Executed { version_before: None, after: None };

    /// Returns the version afterwards.
    pub(crate) fn version_after(&self) -> Option<&str> {
        self.after.as_ref().map(|image| image.version.as_str())
    }
}

/// Executes requests.
pub(crate) struct Executor<'a> {
    ctx: WriteContext<'a>,
}

impl<'a> Executor<'a> {
    pub(crate) fn new(ctx: WriteContext<'a>) -> Executor<'a> {
        Executor { ctx }
    }

    /// Executes all intents in one transaction, and returns the result of each.
    pub(crate) async fn execute(&self, request: &WriteRequest) -> Result<Vec<Executed>, Error> {
        self.check_distinct(&request.intents)?;
        let existence = match request.intents.iter().all(|intent| self.has_generated_id(intent)) {
            true => Existence::Impossible,
            false => request.existence,
        };
        let deletes = request.intents.iter().any(Intent::is_deletion);
        let mut state = AttemptState { existence, deletes, ..AttemptState::default() };
        let _turns = self.take_turns(&request.intents).await?;
        let executed = self.attempt_until_done(request, &mut state).await;
        if executed.is_err() {
            tombstone::abandon(&self.ctx, &mut state).await;
        }
        executed
    }

    /// Waits for the turns of this call at entities that it changes relative to what they are. Many
    /// writers add to the same number, and all but one of those that read it at once would try again.
    async fn take_turns(&self, intents: &[Intent]) -> Result<Vec<Turn<'a>>, Error> {
        let relative = intents.iter().filter(|intent| intent.is_relative());
        let keys = relative.map(|intent| self.ctx.own_key(intent.key()).partition.into_vec());
        let keys: Vec<Vec<u8>> = keys.collect();
        self.ctx.row_turns.take(&keys, self.ctx.stamps.clock()).await
    }

    async fn attempt_until_done(
        &self,
        request: &WriteRequest,
        state: &mut AttemptState,
    ) -> Result<Vec<Executed>, Error> {
        let mut attempts = self.ctx.attempts();
        loop {
            attempts.next().await?;
            match self.attempt(request, state).await {
                Ok(Some(executed)) => return Ok(executed),
                Ok(None) => {}
                // It may be no error if one of the entities exists.
                Err(error) if state.existence == Existence::Unlikely && !is_failure(&error) => {}
                Err(error) => return Err(error),
            }
            state.existence = Existence::Unknown;
        }
    }

    /// Executes all intents in one transaction, unless they were executed under the same key.
    pub(crate) async fn execute_idempotent(
        &self,
        request: WriteRequest,
        key: IdempotencyKey,
    ) -> Result<Done, Error> {
        if let Some(images) = key.look_up(&self.ctx, &request.intents).await? {
            return Ok(Done::Before(images));
        }
        let request = WriteRequest { idempotency_key: Some(key.clone()), ..request };
        match self.execute(&request).await {
            Ok(executed) => Ok(Done::Now(executed.into_iter().map(|done| done.after).collect())),
            // The reason may be that a concurrent request with the same key was faster.
            Err(error) => match key.look_up(&self.ctx, &request.intents).await? {
                Some(images) => Ok(Done::Before(images)),
                None => Err(error),
            },
        }
    }

    /// Returns what an attempt would write, without writing or allocating an ordinal.
    pub(crate) async fn rehearse(&self, request: &WriteRequest) -> Result<Difference, Error> {
        let intents = &request.intents;
        self.check_distinct(intents)?;
        let (mut writes, mut state) = (WriteSet::default(), AttemptState::default());
        let mut changes = vec![];
        // Distinct placeholders, so that no two new entities share postings.
        for (intent, ordinal) in intents.iter().zip(0..) {
            let before = self.ctx.reader().get_any(intent.key()).await?;
            let is_seen = |row: &OwnRow| row.deletion.is_none() && !self.ctx.is_expired(row);
            let before = before.filter(is_seen);
            if let Decision::Change(mut transition) = self.admit(request, intent, before).await? {
                if let Some(after) = &mut transition.after
                    && self.ctx.layouts.current.model().entity(after.key.entity).has_ordinals()
                {
                    after.ordinal = after.ordinal.or(Some(ordinal));
                }
                changes.push(*transition);
            }
        }
        let numbers = self.ctx.assign_numbers(&mut changes.iter_mut().collect::<Vec<_>>()).await?;
        for transition in changes {
            writes.add(self.ctx.own_key(&transition.key), transition);
        }
        let expansion = Cascade::new(self.ctx, &mut writes).expand(&mut state).await?;
        let mut difference = self.ctx.planner(&[]).plan(writes.transitions())?;
        difference.actions.extend(numbers.actions.iter().cloned());
        match expansion {
            Expansion::Whole => Ok(difference),
            Expansion::TooMany | Expansion::InDoubt => Err(Error::TooLarge {
                rows: difference.rows_max(),
                rows_max: ACTIONS_MAX - self.ctx.reserved(),
            }),
        }
    }

    /// Makes one attempt; returns none if a read was stale.
    async fn attempt(
        &self,
        request: &WriteRequest,
        state: &mut AttemptState,
    ) -> Result<Option<Vec<Executed>>, Error> {
        let mut footprint = self.decide(request, state).await?;
        let fits = match Cascade::new(self.ctx, &mut footprint.writes).expand(state).await? {
            Expansion::Whole => self.fits(request, &footprint)?,
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
        let is_done = self.commit(footprint, others, state).await?;
        Ok(is_done.then_some(executed))
    }

    /// Reads the entity of each intent, and applies the intent.
    async fn decide(
        &self,
        request: &WriteRequest,
        state: &mut AttemptState,
    ) -> Result<Footprint<'a>, Error> {
        let mut footprint = Footprint::default();
        let mut changes = Vec::new();
        for intent in &request.intents {
            let before = match state.existence {
                Existence::Unlikely | Existence::Impossible => None,
                Existence::Unknown => SettledReader::new(self.ctx).read_for(intent, state).await?,
            };
            let decision = match (intent, before) {
                // Its expiry was postponed.
                (Intent::Expire { .. }, Some(row)) if !self.ctx.is_expired(&row) => {
                    Decision::Unchanged(Some(row))
                }
                (intent, before) => self.admit(request, intent, before).await?,
            };
            match decision {
                Decision::Change(transition) => changes.push((intent.key(), transition)),
                Decision::Unchanged(row) => footprint.reads.extend(row),
            }
        }
        let mut transitions: Vec<&mut Transition> =
            changes.iter_mut().map(|(_, transition)| &mut **transition).collect();
        footprint.numbers = self.ctx.assign_numbers(&mut transitions).await?;
        self.ctx.assign_ordinals(&mut transitions).await?;
        for (key, transition) in changes {
            footprint.writes.add(self.ctx.own_key(key), *transition);
        }
        Ok(footprint)
    }

    /// Applies an intent, if the user of the request may do that.
    async fn admit(
        &self,
        request: &WriteRequest,
        intent: &Intent,
        before: Option<OwnRow>,
    ) -> Result<Decision, Error> {
        let Some(user) = request.user.as_deref() else {
            return self.ctx.admission().decide(intent, before);
        };
        let rules = Rules { user, layouts: self.ctx.layouts, reader: self.ctx.reader() };
        let image = before.clone().map(|row| self.ctx.layouts.upgraded(row));
        // Before anything that depends on whether the entity exists.
        rules.check_granted(intent)?;
        rules.check_visible(intent, image.as_ref()).await?;
        if let (Intent::Create { key, .. }, Some(_)) = (intent, &before) {
            let decision = self.ctx.admission().decide(intent, None)?;
            rules.check_decision(intent, None, &decision).await?;
            return Err(self.ctx.admission().exists(key));
        }
        let decision = self.ctx.admission().decide(intent, before)?;
        rules.check_decision(intent, image.as_ref(), &decision).await?;
        Ok(decision)
    }

    /// Whether all transitions fit into one transaction, with the removal of the deletion record and
    /// the other actions of the request.
    fn fits(&self, request: &WriteRequest, footprint: &Footprint<'_>) -> Result<bool, Error> {
        let Footprint { writes, numbers, .. } = footprint;
        // If nothing was added, the commit reports what is wrong.
        if writes.transitions().len() <= request.intents.len() {
            return Ok(true);
        }
        let difference = self.ctx.planner(&[]).plan(writes.transitions())?;
        let keys = usize::from(request.idempotency_key.is_some());
        let others = keys + numbers.actions.len() + request.piggybacked.len();
        Ok(difference.fits(1 + others + self.ctx.reserved()))
    }

    /// Runs a deletion that does not fit into one transaction. It must be the only intent.
    async fn delete_large(
        &self,
        request: &WriteRequest,
        writes: &WriteSet,
    ) -> Result<Vec<Executed>, Error> {
        match &request.intents[..] {
            [Intent::Delete { key, expected }] => {
                // A user may delete what was read, not what somebody has made of it since.
                let read = || version_read(key, writes);
                let is_pinned = expected.is_none() && request.user.is_some();
                let pinned = expected.as_deref().or_else(|| read().filter(|_| is_pinned));
                let large = LargeDeletion { root: key, expected: pinned, request };
                match delete_in_background(&self.ctx, large).await {
                    Err(Error::VersionMismatch { .. }) if is_pinned => Err(Error::Contended),
                    deleted => deleted.map(|()| vec![Executed::GONE]),
                }
            }
            [Intent::Expire { key }] => {
                // If it has changed since it was read, it may not be expired any more.
                let expected = version_read(key, writes);
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
                Err(Error::TooLarge { rows, rows_max: ACTIONS_MAX - self.ctx.reserved() })
            }
        }
    }

    /// Returns the result of each intent.
    fn executed(&self, intents: &[Intent], footprint: &Footprint<'_>) -> Vec<Executed> {
        let version = |row: &OwnRow| row.image.version.clone();
        // The write set includes what other intents do to the entity.
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

    /// Commits everything; returns false if a read was stale.
    async fn commit(
        &self,
        mut footprint: Footprint<'a>,
        others: Vec<PlannedAction>,
        state: &mut AttemptState,
    ) -> Result<bool, Error> {
        if footprint.writes.transitions().is_empty() && others.is_empty() {
            return Ok(true);
        }
        let ctx = &self.ctx;
        let mut difference = ctx.planner(&state.called_off).plan_transaction(&footprint)?;
        let record = state.deletion.as_ref();
        let end = record.map(|record| record.remove(ctx.table, DeletionState::Marking));
        difference.actions.extend(end);
        difference.actions.extend(others);
        let commit = ctx.commit_difference(difference);
        match once_begun(commit, || footprint.numbers.send(ctx)).await? {
            Outcome::Done => {
                footprint.numbers.commit();
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
            // The target is in the read set of this transaction: it has changed.
            Outcome::TargetGone { target, .. }
                if footprint.reads.iter().any(|row| row.image.key == target) =>
            {
                if let Some(row) = ctx.reader().get_any(&target).await? {
                    tombstone::restore_presence(ctx, row, state).await?;
                }
                Ok(false)
            }
            Outcome::TargetGone { owner, field, target } => {
                match SettledReader::new(*ctx).read_with(&target, state, Hidden::Leave).await? {
                    // It was created again, or the deletion that marked it is canceled now.
                    Some(row) if !ctx.is_expired(&row) => {
                        tombstone::restore_presence(ctx, row, state).await?;
                        Ok(false)
                    }
                    Some(_) | None => Err(ctx.layouts.target_gone(&owner, field, &target)),
                }
            }
        }
    }

    /// Whether an intent creates an entity whose id was just generated.
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

/// The version of an entity that was read to be changed.
fn version_read<'w>(key: &EntityKey, writes: &'w WriteSet) -> Option<&'w str> {
    let read = writes.transitions().iter().find(|member| member.key == *key)?;
    Some(read.before.as_ref()?.image.version.as_str())
}

/// Whether the store failed, or the model has changed, as opposed to refusing what was decided.
fn is_failure(error: &Error) -> bool {
    match error {
        Error::Store(error) => !matches!(error, StoreError::Invalid(_)),
        Error::ModelChanged => true,
        _ => false,
    }
}
