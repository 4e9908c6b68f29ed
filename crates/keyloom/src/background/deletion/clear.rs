//! Clears references to what an applied deletion has hidden, in entities that stay.

use keyloom_model::{EntityKey, OnDelete, OwnRow};
use keyloom_query::DeletionState;

use super::walk::{Referrer, Referrers, Walk};
use crate::error::Error;
use crate::write::{DeletionRecord, TombstoneChange, Transition, WriteContext};

/// Clears all marked references.
pub(super) async fn clear_all(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    root: &EntityKey,
) -> Result<(), Error> {
    let mut walk = Walk::new(*ctx, record, root);
    while let Some(Referrers { all, .. }) = walk.next().await? {
        let stays =
            |one: &Referrer| one.link.on_delete == OnDelete::Clear && !record.has_marked(&one.row);
        let mut cleared = vec![];
        for Referrer { row, .. } in all.into_iter().filter(stays) {
            cleared.extend(without_references(ctx, record, row).await?);
        }
        for some in ctx.planner(&[]).batches(&cleared, 2) {
            if !commit_cleared(ctx, record, some).await? {
                for member in some {
                    clear_references(ctx, record, &member.key).await?;
                }
            }
        }
    }
    Ok(())
}

/// Clears the marked references of one entity. Only while the deletion is being swept: later, a new
/// entity can have the id of the target.
pub(crate) async fn clear_references(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    key: &EntityKey,
) -> Result<(), Error> {
    let mut attempts = ctx.attempts();
    loop {
        attempts.next().await?;
        let Some(row) = ctx.reader().get_any(key).await? else { return Ok(()) };
        let state = ctx.reader().deletion_state(record.id()).await?;
        let Some(cleared) = without_references(ctx, record, row).await? else { return Ok(()) };
        if state != Some(DeletionState::Sweeping) || commit_cleared(ctx, record, &[cleared]).await?
        {
            return Ok(());
        }
    }
}

/// Returns the entity without the references that a deletion has marked; none if it has none.
async fn without_references(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    row: OwnRow,
) -> Result<Option<Transition>, Error> {
    if !row.pending.fields().any(|(_, by)| by == record.id()) {
        return Ok(None);
    }
    let image = ctx.layouts.upgraded(row.clone());
    // Tombstones on the entity itself are not resolved here.
    let fields = row.pending.clone().only_fields();
    let entity = ctx.layouts.current.model().entity(image.key.entity);
    let after = fields.settled((&image, entity), |by| by == record.id());
    let mut transition = Transition::new(row.image.key.clone(), Some(row), after);
    transition.tombstones = TombstoneChange::Keep;
    ctx.assign_ordinal(&mut transition).await?;
    Ok(Some(transition))
}

async fn commit_cleared(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    cleared: &[Transition],
) -> Result<bool, Error> {
    let mut difference = ctx.planner(&[]).plan(cleared)?;
    difference.actions.push(record.subtract_done(ctx.table, cleared.len()));
    Ok(ctx.commit_difference(difference).await?.is_done())
}
