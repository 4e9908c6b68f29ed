//! Tombstones of a deletion that fits into one transaction. Entities that can be referred to are
//! marked first: a transaction that adds a reference checks that its target has no tombstone. So no
//! reference is added after the existing ones were found.

use keyloom_model::OwnRow;
use keyloom_query::DeletionState;

use super::deletion_record::write_roots;
use super::write_set::WriteSet;
use super::{AttemptState, DeletionRecord, WriteContext};
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
    if ctx.commit_difference(actions).await?.is_done() {
        (state.deletion, state.marked) = (Some(deletion), marked);
    } else {
        forget_called_off(ctx, state).await?;
    }
    Ok(Marked::Now)
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
