//! Tombstones of a deletion that fits into one transaction. Entities that can be referred to are
//! marked first: a transaction that adds a reference checks that its target has no tombstone. So no
//! reference is added after the existing ones were found.

use keyloom_model::{OwnRow, Reason, Row};
use keyloom_query::DeletionState;
use keyloom_store::{Delete, TransactAction};

use super::deletion_record::write_roots;
use super::write_set::WriteSet;
use super::{
    AttemptState, DeletionRecord, PlannedAction, TombstoneChange, Tombstones, WriteContext,
};
use crate::background::take_back;
use crate::error::Error;

/// Whether everything must be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marked {
    /// Everything was marked already.
    Before,
    /// Tombstones were written, or could not be: what was read is stale.
    Now,
}

/// Marks the deleted entities of a write set that can be referred to.
pub(crate) async fn mark(
    ctx: &WriteContext<'_>,
    writes: &WriteSet,
    state: &mut AttemptState,
) -> Result<Marked, Error> {
    let is_marked = |row: &OwnRow| state.deletion.as_ref().is_some_and(|own| own.has_marked(row));
    let rows = writes.deletions().filter(|member| ctx.references().is_referable(&member.key));
    let rows = rows.filter_map(|member| member.before.as_ref());
    let rows: Vec<&OwnRow> = rows.filter(|row| !is_marked(row)).collect();
    if rows.is_empty() {
        return Ok(Marked::Before);
    }
    let mut marked = state.marked.clone();
    marked.extend(rows.iter().map(|row| row.image.key.clone()));
    let roots = write_roots(&ctx.layouts.current, &marked);
    let (deletion, record) = match &state.deletion {
        Some(deletion) => (deletion.clone(), deletion.extend(ctx.table, roots)),
        None => {
            let deletion = DeletionRecord::new(ctx.stamps.next()?);
            let record = deletion.create(ctx.table, roots);
            (deletion, record)
        }
    };
    let mark = |row: &&OwnRow| deletion.mark(ctx.table, ctx.own_key(&row.image.key), row);
    let mut actions = vec![record];
    actions.extend(rows.iter().map(mark));
    for row in rows {
        actions.extend(remove_presence(ctx, row)?);
    }
    if ctx.commit_difference(actions).await?.is_done() {
        (state.deletion, state.marked) = (Some(deletion), marked);
    } else {
        forget_called_off(ctx, state).await?;
    }
    Ok(Marked::Now)
}

/// Removes the presence rows of an entity that is marked: it can no longer be referred to.
fn remove_presence(ctx: &WriteContext<'_>, row: &OwnRow) -> Result<Vec<PlannedAction>, Error> {
    let rows = ctx.layouts.rows_before(row)?;
    let presence = rows.iter().filter(|row| row.reason == Reason::Presence);
    let remove = |row: &Row| TransactAction::Delete(Delete::new(ctx.table, row.key.to_item()));
    Ok(presence.map(|row| PlannedAction::or_changed(remove(row))).collect())
}

/// Abandons the deletion of this call.
pub(crate) async fn abandon(ctx: &WriteContext<'_>, state: &mut AttemptState) {
    let marked = std::mem::take(&mut state.marked);
    if let Some(deletion) = state.deletion.take() {
        // If this fails, the next writer that finds one of its tombstones cancels the deletion.
        let _ = take_back(ctx, &deletion, &marked).await;
    }
}

/// Starts the deletion of this call over if another writer has canceled it.
pub(crate) async fn forget_called_off(
    ctx: &WriteContext<'_>,
    state: &mut AttemptState,
) -> Result<(), Error> {
    let Some(deletion) = state.deletion.clone() else { return Ok(()) };
    match ctx.reader().deletion_state(deletion.id()).await? {
        None | Some(DeletionState::CalledOff) => {
            take_back(ctx, &deletion, &state.marked).await?;
            state.called_off.push(deletion.id().to_owned());
            state.end_deletion();
        }
        Some(DeletionState::Marking | DeletionState::Sweeping) => {}
    }
    Ok(())
}

/// Writes the presence rows of an entity that can be referred to and lacks them: the deletion that
/// marked it is canceled, or it was written under a model without them.
pub(crate) async fn restore_presence(
    ctx: &WriteContext<'_>,
    row: OwnRow,
    state: &AttemptState,
) -> Result<(), Error> {
    let deletion = row.deletion.as_deref();
    let is_old = row.revision < ctx.layouts.current.revision() && deletion.is_none();
    let is_void = deletion.is_some_and(|deletion| state.is_called_off(deletion));
    let has_presence = ctx.layouts.current.references().has_presence(row.image.key.entity);
    if !has_presence || !(is_old || is_void) {
        return Ok(());
    }
    let pending = row.pending.clone();
    let pending = match deletion {
        Some(deletion) => pending.without(deletion),
        None => pending,
    };
    let tombstones = Tombstones { deletion: None, pending };
    let restored = ctx.rewritten(row, TombstoneChange::Set(tombstones)).await?;
    // If it fails, the entity has changed, and is read again.
    ctx.commit(&[restored], &[]).await?;
    Ok(())
}
