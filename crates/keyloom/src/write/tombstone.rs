//! Tombstones of a deletion that fits into one transaction. What others could refer to is marked
//! first: a transaction that takes up a reference checks that its target has no tombstone. So nobody
//! comes to refer to an entity after everyone who does was found.

use keyloom_model::OwnRow;
use keyloom_query::DeletionState;

use super::deletion_record::write_roots;
use super::write_set::WriteSet;
use super::{AttemptState, DeletionRecord, WriteContext};
use crate::background::take_back;
use crate::error::Error;

/// Whether to read everything again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marked {
    /// Everything was marked already.
    Before,
    /// Tombstones were set, or could not be: what was read is old.
    Now,
}

/// Marks everything in a write set that is deleted and could be referred to.
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

/// Gives the deletion of this call up.
pub(crate) async fn abandon(ctx: &WriteContext<'_>, state: &mut AttemptState) {
    let marked = std::mem::take(&mut state.marked);
    if let Some(deletion) = state.deletion.take() {
        // If this fails, whoever meets a tombstone of the deletion calls it off.
        let _ = take_back(ctx, &deletion, &marked).await;
    }
}

/// If others have called the deletion of this call off, it begins again.
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
