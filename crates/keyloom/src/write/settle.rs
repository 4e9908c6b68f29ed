//! Reads entities for a write, and resolves what is in its way: cancels deletions that were not
//! applied, removes what applied deletions have hidden, and deletes expired entities. So reading
//! for a write can take transactions of its own, which are those of `background`.

use keyloom_model::attribute::OWNER;
use keyloom_model::{EntityKey, OwnRow};
use keyloom_query::DeletionState;
use keyloom_value::Value;

use super::commit::UniqueConflict;
use super::patience::Patience;
use super::{AttemptState, DeletionRecord, Executor, Intent, WriteContext, WriteRequest};
use crate::background::{call_off, clear_references, finish_entity};
use crate::error::Error;

/// How many guards may be found whose owner no longer has the value, until that counts as damage.
const OWNERLESS_MAX: usize = 8;

/// What to do with a hidden entity: a deletion was applied to it and has not removed it yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Remove it, so that its id and its unique values are free.
    Finish,
    /// Treat it as absent.
    Leave,
}

/// Reads entities once no deletion is in the way.
pub(crate) struct SettledReader<'a> {
    ctx: WriteContext<'a>,
}

impl<'a> SettledReader<'a> {
    pub(crate) fn new(ctx: WriteContext<'a>) -> SettledReader<'a> {
        SettledReader { ctx }
    }

    /// Reads the entity of an intent: a row that no deletion affects, or none.
    pub(crate) async fn read_for(
        &self,
        intent: &Intent,
        state: &mut AttemptState,
    ) -> Result<Option<OwnRow>, Error> {
        let key = intent.key();
        let hidden = match intent {
            // It no longer exists, and is being removed.
            Intent::Expire { .. } | Intent::Update { .. } | Intent::Delete { .. } => Hidden::Leave,
            Intent::Create { .. } | Intent::Put { .. } | Intent::Import { .. } => Hidden::Finish,
        };
        let Some(row) = self.read_with(key, state, hidden).await? else { return Ok(None) };
        if !self.ctx.is_expired(&row) {
            return Ok(Some(row));
        }
        match intent {
            Intent::Expire { .. } => Ok(Some(row)),
            Intent::Update { .. } | Intent::Delete { .. } => Ok(None),
            Intent::Create { .. } | Intent::Put { .. } | Intent::Import { .. } => {
                expire_entity(&self.ctx, key).await.map_err(|error| match error {
                    // It has expired, but a reference forbids its deletion.
                    Error::InUse { .. } => self.ctx.admission().exists(key),
                    error => error,
                })?;
                self.read(key, state).await
            }
        }
    }

    /// Reads an entity's own row once no deletion is in the way.
    pub(crate) async fn read(
        &self,
        key: &EntityKey,
        state: &mut AttemptState,
    ) -> Result<Option<OwnRow>, Error> {
        self.read_with(key, state, Hidden::Finish).await
    }

    pub(crate) async fn read_with(
        &self,
        key: &EntityKey,
        state: &mut AttemptState,
        hidden: Hidden,
    ) -> Result<Option<OwnRow>, Error> {
        let (mut attempts, mut patience) = (self.ctx.attempts(), Patience::default());
        loop {
            attempts.next().await?;
            let Some(row) = self.ctx.reader().get_any(key).await? else { return Ok(None) };
            let deletion = row.deletion.as_ref().filter(|deletion| !state.is_settled(deletion));
            let Some(deletion) = deletion.map(DeletionRecord::new) else {
                if self.clear_taken_references(&row, state).await? {
                    return Ok(Some(row));
                }
                continue;
            };
            match self.ctx.reader().deletion_state(deletion.id()).await? {
                None | Some(DeletionState::CalledOff) => {
                    state.called_off.push(deletion.id().to_owned());
                }
                Some(DeletionState::Marking) => {
                    let waits = state.gives_way_to(&deletion)
                        && patience.is_left(&self.ctx, &deletion, attempts.elapsed()).await?;
                    if !waits && call_off(&self.ctx, &deletion).await? {
                        state.called_off.push(deletion.id().to_owned());
                    }
                }
                Some(DeletionState::Sweeping) => match hidden {
                    Hidden::Finish => Box::pin(finish_entity(&self.ctx, &deletion, key)).await?,
                    Hidden::Leave => return Ok(None),
                },
            }
        }
    }

    /// Clears the references of an entity whose targets were deleted. Returns false if its row must
    /// be read again. Ignores deletions that were not applied: a write of the entity keeps their
    /// tombstones on its references.
    async fn clear_taken_references(
        &self,
        row: &OwnRow,
        state: &mut AttemptState,
    ) -> Result<bool, Error> {
        for (_, deletion) in row.pending.fields() {
            if state.is_settled(deletion) {
                continue;
            }
            match self.ctx.reader().deletion_state(deletion).await? {
                None | Some(DeletionState::CalledOff) => {
                    state.called_off.push(deletion.to_owned());
                }
                Some(DeletionState::Marking) => {}
                Some(DeletionState::Sweeping) => {
                    let deletion = DeletionRecord::new(deletion);
                    clear_references(&self.ctx, &deletion, &row.image.key).await?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Resolves a unique violation: deletes the owner of the value if it has expired, and otherwise
    /// returns the violation.
    pub(crate) async fn make_room(
        &self,
        conflict: UniqueConflict,
        state: &mut AttemptState,
    ) -> Result<(), Error> {
        let UniqueConflict { by, unique, guard } = conflict;
        let layouts = self.ctx.layouts;
        let owner = guard.as_ref().and_then(|guard| guard.get(OWNER)).and_then(Value::as_b);
        let owner = owner.and_then(|partition| layouts.current.entity_key(partition));
        if let Some(owner) = owner
            && let Some(row) = self.read(&owner, state).await?
        {
            if self.ctx.is_expired(&row) {
                return expire_entity(&self.ctx, &owner).await.map_err(|error| match error {
                    // It has expired, but a reference forbids its deletion, so it keeps its value.
                    Error::InUse { .. } => layouts.taken(by.entity, unique, Some(&owner)),
                    error => error,
                });
            }
            let implied = layouts.rows_before(&row)?;
            if implied.iter().any(|row| Some(&row.item) == guard.as_ref()) {
                return Err(layouts.taken(by.entity, unique, Some(&owner)));
            }
        }
        // The owner gave the value up meanwhile. If that repeats, the guard is an orphan.
        state.ownerless += 1;
        if state.ownerless < OWNERLESS_MAX {
            return Ok(());
        }
        let entity = &layouts.current.model().entity(by.entity).name;
        let unique = layouts.current.uniques().name(by.entity, unique);
        let what = format!(
            "A value of the unique `{unique}` of `{entity}` is reserved, but no entity has it."
        );
        Err(Error::damaged(what))
    }
}

/// Deletes an expired entity, with everything that its deletion affects.
pub(crate) async fn expire_entity(ctx: &WriteContext<'_>, key: &EntityKey) -> Result<(), Error> {
    let request = WriteRequest::from(Intent::Expire { key: key.clone() });
    Box::pin(Executor::new(*ctx).execute(&request)).await.map(drop)
}
