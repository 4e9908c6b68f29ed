//! Several changes, together or not at all: read, plan, commit; again if others were faster.

use keyloom_model::attribute::OWNER;
use keyloom_model::{EntityKey, Image, OwnRow, RowKey, UniqueId};
use keyloom_query::DeletionState;
use keyloom_store::{Check, Error as StoreError, OnFailure, TransactAction};
use keyloom_value::{Item, Value};

use super::commit::{Outcome, commit};
use super::delete::{Deletion, Expansion};
use super::intent::Decision;
use super::plan::{ACTIONS_MAX, Plan, PlannedAction, Planner, as_read};
use super::{ATTEMPTS_MAX, IdempotencyKey, Intent, Transition, WriteContext, WriteSet};
use crate::error::Error;

/// How often in a row a guard may be met whose owner does not have the value any more.
const OWNERLESS_MAX: usize = 8;

/// What the attempts of one call have in common.
#[derive(Debug, Default)]
pub(crate) struct AttemptState {
    /// Deletions that are called off: their marks mean nothing.
    pub(crate) void: Vec<String>,
    /// The deletion of this call, if it deletes what others may refer to.
    pub(crate) task: Option<Deletion>,
    /// What that deletion has marked.
    pub(crate) marked: Vec<EntityKey>,
    /// The own row of the one that refused a deletion when everyone was last looked for.
    pub(crate) refused: Option<RowKey>,
    /// How often a guard was met whose owner did not have the value.
    pub(crate) ownerless: usize,
    /// Nothing is there yet of what is wanted.
    pub(crate) assumes_new: bool,
    /// For what is to happen once.
    pub(crate) ticket: Option<IdempotencyKey>,
    /// Rows that are written with the changes or not at all.
    pub(crate) piggybacked: Vec<PlannedAction>,
}

/// What to do about an entity that is hidden: a deletion has taken it, and has not removed it yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hidden {
    /// Remove it, so that its id and its unique values are free.
    Finish,
    /// It is not there.
    Leave,
}

/// What became of an intent.
#[derive(Debug)]
pub(crate) struct Executed {
    /// The version that the entity had; none if there was none, or it is gone at length.
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

impl WriteContext<'_> {
    /// Makes all intents happen together; for each, what became of it.
    pub(crate) async fn execute(&self, intents: &[Intent]) -> Result<Vec<Executed>, Error> {
        self.execute_with(intents, AttemptState::default()).await
    }

    /// The same for entities that are most likely not there: they are not looked for, as long as
    /// none is found by the conditions of the transaction.
    pub(crate) async fn execute_new(&self, intents: &[Intent]) -> Result<Vec<Executed>, Error> {
        self.check_distinct(intents)?;
        let mut attempt = AttemptState { assumes_new: true, ..AttemptState::default() };
        match self.attempt(intents, &mut attempt).await {
            Ok(Some(executed)) => Ok(executed),
            Err(Error::Store(error)) if !matches!(error, StoreError::Invalid(_)) => {
                Err(error.into())
            }
            // One is there, or something is wrong that may be right if one is.
            Ok(None) | Err(_) => self.execute(intents).await,
        }
    }

    pub(crate) async fn execute_with(
        &self,
        intents: &[Intent],
        mut attempt: AttemptState,
    ) -> Result<Vec<Executed>, Error> {
        self.check_distinct(intents)?;
        for _ in 0..ATTEMPTS_MAX {
            let executed = self.attempt(intents, &mut attempt).await;
            match executed {
                Ok(None) => {}
                Ok(Some(executed)) => return Ok(executed),
                Err(error) => {
                    self.abandon(&mut attempt).await;
                    return Err(error);
                }
            }
        }
        self.abandon(&mut attempt).await;
        Err(Error::Contended)
    }

    /// One attempt; none if what was read has changed meanwhile.
    async fn attempt(
        &self,
        intents: &[Intent],
        attempt: &mut AttemptState,
    ) -> Result<Option<Vec<Executed>>, Error> {
        let mut writes = WriteSet::default();
        let mut stays = vec![];
        for intent in intents {
            let before = match attempt.assumes_new {
                true => None,
                false => self.current(intent, attempt).await?,
            };
            match self.decide(intent, before)? {
                Decision::Changes(mut transition) => {
                    self.number(&mut transition).await?;
                    writes.add(self.own_key(intent.key()), *transition);
                }
                Decision::Stays(row) => stays.extend(row),
            }
        }
        let fits = match self.expand(&mut writes, attempt).await? {
            Expansion::Whole => self.fits(&writes, intents.len(), attempt)?,
            Expansion::TooMany => false,
            Expansion::InDoubt => return Ok(None),
        };
        if !fits {
            self.abandon(attempt).await;
            return self.at_length(intents, &writes, attempt).await.map(Some);
        }
        let executed = self.executed(intents, (&writes, &stays));
        let answers: Vec<Option<&Image>> =
            executed.iter().map(|done| done.after.as_ref()).collect();
        let mut piggybacked = attempt.piggybacked.clone();
        piggybacked.extend(self.receipt_of(attempt.ticket.as_ref(), &answers)?);
        if self.mark(&writes, attempt).await?.is_again() {
            return Ok(None);
        }
        let done = self.commit((&writes, &stays), piggybacked, attempt).await?;
        Ok(done.then_some(executed))
    }

    /// What an attempt would write. Nothing is written, and no number is taken.
    pub(crate) async fn rehearse(&self, intents: &[Intent]) -> Result<Plan, Error> {
        self.check_distinct(intents)?;
        let (mut writes, mut attempt) = (WriteSet::default(), AttemptState::default());
        // Each that would get a number gets another one here, so that no two are taken for one.
        for (intent, number) in intents.iter().zip(0..) {
            let before = self.reader().get_any(intent.key()).await?;
            let before = before.filter(|row| row.deletion.is_none() && !self.is_expired(row));
            if let Decision::Changes(mut transition) = self.decide(intent, before)? {
                if let Some(after) = &mut transition.after
                    && self.entity(&after.key).is_numbered()
                {
                    after.number = after.number.or(Some(number));
                }
                writes.add(self.own_key(intent.key()), *transition);
            }
        }
        let expansion = self.expand(&mut writes, &mut attempt).await?;
        let plan = self.planner(&[]).plan(writes.transitions())?;
        match expansion {
            Expansion::Whole => Ok(plan),
            Expansion::TooMany | Expansion::InDoubt => {
                Err(Error::TooLarge { rows: plan.rows_max(), rows_max: ACTIONS_MAX })
            }
        }
    }

    /// For each intent, what became of it.
    fn executed(
        &self,
        intents: &[Intent],
        (writes, stays): (&WriteSet, &[OwnRow]),
    ) -> Vec<Executed> {
        // What others do to an entity of the same transaction counts: read it off the writes.
        let executed = |intent: &Intent| match writes.get(&self.own_key(intent.key())) {
            Some(member) => Executed {
                version_before: member.before.as_ref().map(|row| row.image.version.clone()),
                after: member.after.clone(),
            },
            None => {
                let row = stays.iter().find(|row| row.image.key == *intent.key());
                Executed {
                    version_before: row.map(|row| row.image.version.clone()),
                    after: row.map(|row| self.layouts.upgraded(row.clone())),
                }
            }
        };
        intents.iter().map(executed).collect()
    }

    /// Whether everything that takes part goes into one transaction, with the end of its task and
    /// the rows that go along.
    fn fits(
        &self,
        writes: &WriteSet,
        intents: usize,
        attempt: &AttemptState,
    ) -> Result<bool, Error> {
        // What is wrong with a transaction that nothing was added to is said when it is committed.
        if writes.transitions().len() <= intents {
            return Ok(true);
        }
        let plan = self.planner(&[]).plan(writes.transitions())?;
        let others = 1 + usize::from(attempt.ticket.is_some()) + attempt.piggybacked.len();
        Ok(plan.fits(others))
    }

    /// A deletion that does not fit into one transaction. Nothing can be changed together with it.
    async fn at_length(
        &self,
        intents: &[Intent],
        writes: &WriteSet,
        attempt: &AttemptState,
    ) -> Result<Vec<Executed>, Error> {
        match intents {
            [Intent::Delete { key, expected }] => {
                self.delete_at_length((key, expected.as_deref()), attempt).await?;
                Ok(vec![Executed::GONE])
            }
            [Intent::Expire { key }] => {
                // What was changed since it was read may have more time, or be gone.
                let read = writes.transitions().iter().find(|member| member.key == *key);
                let version = read.and_then(|member| member.before.as_ref());
                let version = version.map(|before| before.image.version.as_str());
                match self.delete_at_length((key, version), attempt).await {
                    Ok(()) | Err(Error::VersionMismatch { .. } | Error::NotFound { .. }) => {
                        Ok(vec![Executed::GONE])
                    }
                    Err(error) => Err(error),
                }
            }
            _ => {
                let rows = self.planner(&[]).plan(writes.transitions())?.rows_max();
                Err(Error::TooLarge { rows, rows_max: ACTIONS_MAX })
            }
        }
    }

    /// Commits the writes; false if what was read has changed meanwhile.
    async fn commit(
        &self,
        (writes, stays): (&WriteSet, &[OwnRow]),
        piggybacked: Vec<PlannedAction>,
        attempt: &mut AttemptState,
    ) -> Result<bool, Error> {
        if writes.transitions().is_empty() && piggybacked.is_empty() {
            return Ok(true);
        }
        let mut plan = self.planner(&attempt.void).plan(writes.transitions())?;
        for row in stays {
            // What stays as it is belongs to the transaction too: it must still be so.
            if writes.get(&self.own_key(&row.image.key)).is_none() {
                self.hold(row, &mut plan.actions);
            }
        }
        plan.actions.extend(attempt.task.as_ref().map(|task| self.end_of(task)));
        plan.actions.extend(piggybacked);
        match commit(self.store, plan).await? {
            Outcome::Done => {
                (attempt.task, attempt.marked) = (None, vec![]);
                Ok(true)
            }
            Outcome::Changed => {
                self.forget_called_off(attempt).await?;
                Ok(false)
            }
            Outcome::UniqueViolation { by, unique, guard } => {
                self.make_room((&by, unique), guard, attempt).await?;
                Ok(false)
            }
            // What is in the transaction itself is missed there first.
            Outcome::TargetGone { target, .. }
                if stays.iter().any(|row| row.image.key == target) =>
            {
                Ok(false)
            }
            Outcome::TargetGone { owner, field, target } => {
                match self.read_with(&target, attempt, Hidden::Leave).await? {
                    // It is back, or the mark on it was one of a deletion that is called off now.
                    Some(row) if !self.is_expired(&row) => Ok(false),
                    Some(_) | None => Err(self.layouts.target_gone(&owner, field, &target)),
                }
            }
        }
    }

    /// Checks that an entity is still what was read.
    fn hold(&self, row: &OwnRow, planned: &mut Vec<PlannedAction>) {
        let key = self.own_key(&row.image.key).to_item();
        let mut checks = planned.iter_mut().filter_map(|planned| match &mut planned.action {
            TransactAction::Check(check) => Some(check),
            TransactAction::Put(_) | TransactAction::Update(_) | TransactAction::Delete(_) => None,
        });
        // Another one may refer to it: then it is checked already, for being there.
        if let Some(check) = checks.find(|check| check.key == key) {
            check.condition = check.condition.clone().and(as_read(row));
            return;
        }
        let (table, condition) = (self.table.clone(), as_read(row));
        let check = Check { table, key, condition, on_failure: OnFailure::Nothing };
        planned.push(PlannedAction::or_changed(TransactAction::Check(check)));
    }

    /// Gives an entity the number that it should have and has not.
    pub(crate) async fn number(&self, transition: &mut Transition) -> Result<(), Error> {
        let Some(after) = &mut transition.after else { return Ok(()) };
        if after.number.is_none() && self.entity(&after.key).is_numbered() {
            let EntityKey { entity, tenant, .. } = &after.key;
            let row = self.layouts.current.numbers_key(*entity, tenant.as_ref());
            after.number = Some(self.ordinals.next(self.store, self.table, &row).await?);
        }
        Ok(())
    }

    pub(crate) fn planner<'p>(&'p self, void: &'p [String]) -> Planner<'p> {
        let adds_numbers = self.store.adds_numbers();
        let (layouts, table, now_ms) = (self.layouts, self.table, self.now_ms);
        Planner { layouts, table, adds_numbers, now_ms, void }
    }

    /// Commits transitions that are complete.
    pub(crate) async fn commit_transitions(
        &self,
        transitions: &[Transition],
        void: &[String],
    ) -> Result<Outcome, Error> {
        commit(self.store, self.planner(void).plan(transitions)?).await
    }

    /// What an intent is about, as it is now: a row that is there to stay, or none. One that has
    /// expired is put away first.
    async fn current(
        &self,
        intent: &Intent,
        attempt: &mut AttemptState,
    ) -> Result<Option<OwnRow>, Error> {
        let key = intent.key();
        let hidden = match intent {
            // It is not there any more; whoever clears it is at it.
            Intent::Expire { .. } | Intent::Update { .. } | Intent::Delete { .. } => Hidden::Leave,
            Intent::Create { .. } | Intent::Put { .. } | Intent::Import { .. } => Hidden::Finish,
        };
        let Some(row) = self.read_with(key, attempt, hidden).await? else { return Ok(None) };
        if !self.is_expired(&row) {
            return Ok(Some(row));
        }
        match intent {
            Intent::Expire { .. } => Ok(Some(row)),
            Intent::Update { .. } | Intent::Delete { .. } => Ok(None),
            Intent::Create { .. } | Intent::Put { .. } | Intent::Import { .. } => {
                self.expire(key).await.map_err(|error| match error {
                    // It has expired, but a reference holds it.
                    Error::InUse { .. } => self.exists(key),
                    error => error,
                })?;
                self.read(key, attempt).await
            }
        }
    }

    /// An entity's own row, once no deletion is in the way: one that has not been decided is called
    /// off; what one has taken that has happened is removed.
    pub(crate) async fn read(
        &self,
        key: &EntityKey,
        attempt: &mut AttemptState,
    ) -> Result<Option<OwnRow>, Error> {
        self.read_with(key, attempt, Hidden::Finish).await
    }

    async fn read_with(
        &self,
        key: &EntityKey,
        attempt: &mut AttemptState,
        hidden: Hidden,
    ) -> Result<Option<OwnRow>, Error> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(row) = self.reader().get_any(key).await? else { return Ok(None) };
            let is_settled = |task: &String| {
                let mine = attempt.task.as_ref().map(|mine| &mine.id);
                mine == Some(task) || attempt.void.contains(task)
            };
            let Some(task) = row.deletion.clone().filter(|task| !is_settled(task)) else {
                if self.finish_references(&row, attempt).await? {
                    return Ok(Some(row));
                }
                continue;
            };
            match self.reader().deletion_state(&task).await? {
                None | Some(DeletionState::CalledOff) => attempt.void.push(task),
                Some(DeletionState::Marking) => {
                    if self.call_off(&task).await? {
                        attempt.void.push(task);
                    }
                }
                Some(DeletionState::Sweeping) => match hidden {
                    Hidden::Finish => Box::pin(self.finish(&task, key)).await?,
                    Hidden::Leave => return Ok(None),
                },
            }
        }
        Err(Error::Contended)
    }

    /// Clears the references of an entity that deletions have taken which have happened. False if
    /// its row is to be read again. Deletions that have not happened are left alone: whoever writes
    /// the entity keeps their marks on its references.
    async fn finish_references(
        &self,
        row: &OwnRow,
        attempt: &mut AttemptState,
    ) -> Result<bool, Error> {
        for (_, deletion) in row.pending.fields() {
            let mine = attempt.task.as_ref().map(|mine| mine.id.as_str());
            if mine == Some(deletion) || attempt.void.iter().any(|void| void == deletion) {
                continue;
            }
            match self.reader().deletion_state(deletion).await? {
                None | Some(DeletionState::CalledOff) => attempt.void.push(deletion.to_owned()),
                Some(DeletionState::Marking) => {}
                Some(DeletionState::Sweeping) => {
                    let task = Deletion { id: deletion.to_owned() };
                    self.clear(&task, &row.image.key).await?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// A unique value is taken. If its owner is only not gone yet, it goes now; on_conflict that is
    /// the answer.
    pub(crate) async fn make_room(
        &self,
        (by, unique): (&EntityKey, UniqueId),
        guard: Option<Item>,
        attempt: &mut AttemptState,
    ) -> Result<(), Error> {
        let owner = guard.as_ref().and_then(|guard| guard.get(OWNER)).and_then(Value::as_b);
        let owner = owner.and_then(|partition| self.layouts.current.entity_key(partition));
        if let Some(owner) = owner
            && let Some(row) = self.read(&owner, attempt).await?
        {
            if self.is_expired(&row) {
                return self.expire(&owner).await.map_err(|error| match error {
                    // It has expired, but a reference holds it, and it its value.
                    Error::InUse { .. } => self.layouts.taken(by.entity, unique, Some(&owner)),
                    error => error,
                });
            }
            let implied = self.layouts.rows_before(&row)?;
            if implied.iter().any(|row| Some(&row.item) == guard.as_ref()) {
                return Err(self.layouts.taken(by.entity, unique, Some(&owner)));
            }
        }
        // It gave the value up meanwhile. That it always does so is not a matter of chance.
        attempt.ownerless += 1;
        if attempt.ownerless < OWNERLESS_MAX {
            return Ok(());
        }
        let entity = &self.layouts.current.model().entity(by.entity).name;
        let unique = self.layouts.current.unique_name(by.entity, unique);
        let what = format!("A value of the unique `{unique}` of `{entity}` is guarded for nobody.");
        Err(Error::damaged(what))
    }

    /// Puts an expired entity away, with everything that goes with it.
    pub(crate) async fn expire(&self, key: &EntityKey) -> Result<(), Error> {
        let intent = [Intent::Expire { key: key.clone() }];
        Box::pin(self.execute(&intent)).await.map(|_| ())
    }

    fn check_distinct(&self, intents: &[Intent]) -> Result<(), Error> {
        let mut keys: Vec<_> = intents.iter().map(|intent| self.own_key(intent.key())).collect();
        keys.sort();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => {
                let key = self.layouts.current.entity_key(pair[0].partition.as_bytes());
                Err(Error::SameTwice { id: key.map(|key| key.id).unwrap_or_default() })
            }
        }
    }
}
