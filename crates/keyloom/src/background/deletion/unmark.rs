//! Removes the tombstones of a canceled deletion. They are void; without them, the rows are again
//! exactly what their entities imply. The record is removed last, so that after a crash the remaining
//! tombstones are still found.

use std::collections::HashSet;
use std::iter;

use keyloom_model::{EntityKey, OwnRow};
use keyloom_query::DeletionState;

use super::walk::{Referrers, Walk};
use crate::error::Error;
use crate::write::{
    ACTIONS_MAX, DeletionRecord, PlannedAction, TombstoneChange, Tombstones, Transition,
    WriteContext,
};

/// Cancels a deletion, unless it was applied, and removes its tombstones.
pub(crate) async fn take_back(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    roots: &[EntityKey],
) -> Result<(), Error> {
    if !call_off(ctx, record).await? {
        match ctx.reader().deletion_state(record.id()).await? {
            None | Some(DeletionState::CalledOff) => {}
            Some(DeletionState::Marking | DeletionState::Sweeping) => return Ok(()),
        }
    }
    for root in roots {
        unmark_from(ctx, record, root).await?;
    }
    ctx.commit_difference(vec![record.remove(ctx.table, DeletionState::CalledOff)]).await?;
    Ok(())
}

/// Cancels a deletion; returns false if it was applied or has ended.
pub(crate) async fn call_off(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
) -> Result<bool, Error> {
    Ok(ctx.commit_difference(vec![record.call_off(ctx.table)]).await?.is_done())
}

/// Removes the tombstones of a deletion from one entity.
pub(crate) async fn unmark_entity(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    key: &EntityKey,
) -> Result<(), Error> {
    let mut attempts = ctx.attempts();
    loop {
        attempts.next().await?;
        let Some(row) = ctx.reader().get_any(key).await? else { return Ok(()) };
        let Some(unmarked) = unmarked(ctx, record, row).await? else { return Ok(()) };
        if ctx.commit(&[unmarked], &[]).await?.is_done() {
            return Ok(());
        }
    }
}

/// Removes all tombstones that can be reached from a root.
async fn unmark_from(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    root: &EntityKey,
) -> Result<(), Error> {
    // The outermost first, each before the entity that it refers to, so that the rest can be reached
    // if this stops in between.
    let (mut inner, mut met) = (vec![], HashSet::from([ctx.own_key(root)]));
    let mut walk = Walk::new(*ctx, record, root);
    while let Some(Referrers { all, .. }) = walk.next().await? {
        let rows = all.into_iter().map(|one| one.row);
        let (referable, outer): (Vec<OwnRow>, Vec<OwnRow>) =
            rows.partition(|row| ctx.references().is_referable(&row.image.key));
        unmark_rows(ctx, record, outer).await?;
        let keys = referable.into_iter().map(|row| row.image.key);
        inner.extend(keys.filter(|key| met.insert(ctx.own_key(key))));
    }
    for key in inner.iter().rev().chain([root]) {
        let row = ctx.reader().get_any(key).await?;
        unmark_rows(ctx, record, row.into_iter().collect()).await?;
    }
    Ok(())
}

async fn unmark_rows(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    rows: Vec<OwnRow>,
) -> Result<(), Error> {
    let is_large = |row: &OwnRow| {
        let references = ctx.layouts.current.references();
        // Presence rows come back only with the own row.
        let key = &row.image.key;
        let has_presence =
            references.has_presence(key.entity) || !references.earlier_partitions(key).is_empty();
        has_presence || row.pending.deletions().contains(record.id())
    };
    let (large, small): (Vec<OwnRow>, Vec<OwnRow>) = rows.into_iter().partition(is_large);
    unmark_large(ctx, record, large).await?;
    let small: Vec<OwnRow> = small.into_iter().filter(|row| record.has_marked(row)).collect();
    for some in small.chunks((ACTIONS_MAX - ctx.reserved()) / 2) {
        let actions: Vec<PlannedAction> =
            some.iter().flat_map(|row| without_tombstone(ctx, record, row)).collect();
        if ctx.commit_difference(actions.clone()).await?.is_done() {
            continue;
        }
        // A row was rewritten meanwhile, or its copy was never marked: one by one.
        for action in actions {
            ctx.commit_difference(vec![action]).await?;
        }
    }
    Ok(())
}

/// Removes tombstones with everything that they imply.
async fn unmark_large(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    rows: Vec<OwnRow>,
) -> Result<(), Error> {
    let mut transitions = vec![];
    for row in rows {
        transitions.extend(unmarked(ctx, record, row).await?);
    }
    for some in ctx.planner(&[]).batches(&transitions, 0) {
        if ctx.commit(some, &[]).await?.is_done() {
            continue;
        }
        for member in some {
            unmark_entity(ctx, record, &member.key).await?;
        }
    }
    Ok(())
}

/// Returns the entity without the tombstones of a deletion; none if it has none.
async fn unmarked(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    row: OwnRow,
) -> Result<Option<Transition>, Error> {
    let pending = row.pending.clone().without(record.id());
    if pending == row.pending && !record.has_marked(&row) {
        return Ok(None);
    }
    let deletion = row.deletion.clone().filter(|deletion| deletion != record.id());
    let set = TombstoneChange::Set(Tombstones { deletion, pending });
    ctx.rewritten(row, set).await.map(Some)
}

/// Removes the tombstone from the own row and from its copy.
fn without_tombstone(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    row: &OwnRow,
) -> Vec<PlannedAction> {
    let own = ctx.own_key(&row.image.key);
    let keys = iter::once(own).chain(ctx.references().copy_key(row));
    keys.map(|key| record.unmark(ctx.table, key)).collect()
}
