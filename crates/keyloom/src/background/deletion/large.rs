//! A large deletion from its record to its end: mark, let it happen, clear, sweep. Each of them is in
//! a file of its own.

use std::slice;

use keyloom_model::EntityKey;
use keyloom_query::DeletionState;
use keyloom_store::{Delete, Get};

use super::clear::clear_all;
use super::mark::Marking;
use super::sweep::sweep;
use super::unmark::take_back;
use crate::error::Error;
use crate::write::{DeletionRecord, WriteContext, WriteRequest, read_roots, write_roots};

/// A deletion that is too large for one transaction.
pub(crate) struct LargeDeletion<'r> {
    /// The entity whose deletion was asked for.
    pub(crate) root: &'r EntityKey,
    /// The version that it must have.
    pub(crate) expected: Option<&'r str>,
    /// What was asked for: the rows that go with it are written when it happens.
    pub(crate) request: &'r WriteRequest,
}

/// Deletes an entity, if it has the expected version, and everything that goes with it.
pub(crate) async fn delete_in_background(
    ctx: &WriteContext<'_>,
    deletion: LargeDeletion<'_>,
) -> Result<(), Error> {
    let mut attempts = ctx.attempts();
    loop {
        attempts.next().await?;
        let record = DeletionRecord::new(ctx.stamps.next()?);
        let _running = ctx.running.begin(record.id());
        let roots = write_roots(&ctx.layouts.current, slice::from_ref(deletion.root));
        ctx.commit_difference(vec![record.create(ctx.table, roots)]).await?;
        let mut marking = Marking::new(*ctx, &record);
        match mark_and_happen(ctx, &deletion, &mut marking).await {
            Ok(true) => return resume_deletion(ctx, &record).await,
            // Somebody needed one of the entities.
            Ok(false) => take_back(ctx, &record, marking.roots()).await?,
            Err(error) => {
                // If this fails, whoever meets a tombstone of the deletion calls it off.
                let _ = take_back(ctx, &record, marking.roots()).await;
                return Err(error);
            }
        }
    }
}

/// Marks everything, makes sure that nothing refuses, and lets it happen. False if it was called off.
async fn mark_and_happen(
    ctx: &WriteContext<'_>,
    deletion: &LargeDeletion<'_>,
    marking: &mut Marking<'_>,
) -> Result<bool, Error> {
    let LargeDeletion { root, expected, request } = deletion;
    let Some(row) = marking.mark_root(root, *expected).await? else { return Ok(false) };
    if !marking.mark_all(root).await? || !marking.is_complete(root).await? {
        return Ok(false);
    }
    let implied = ctx.layouts.rows_before(&row)?;
    let own = implied.into_iter().find(|implied| implied.key == ctx.own_key(root));
    let mut decision = vec![marking.record().happen(ctx.table, own.map(|own| own.item))];
    decision.extend(request.others(ctx, &[None])?);
    Ok(ctx.commit_difference(decision).await?.is_done())
}

/// Removes what a deletion has taken that has happened; one that is not there is at its end.
pub(crate) async fn resume_deletion(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
) -> Result<(), Error> {
    let _running = ctx.running.begin(record.id());
    let Some(row) = ctx.store.get(Get::new(ctx.table, record.key())).await? else { return Ok(()) };
    let id = record.id();
    let root = read_roots(&ctx.layouts.current, &row).into_iter().next().ok_or_else(|| {
        Error::damaged(format!("The record of the deletion `{id}` does not name its root."))
    })?;
    let state = DeletionState::read(&row)
        .map_err(|_| Error::damaged(format!("The state of the deletion `{id}` cannot be read.")))?;
    if state != DeletionState::Sweeping {
        return Ok(());
    }
    clear_all(ctx, record, &root).await?;
    sweep(ctx, record, &root).await?;
    ctx.store.delete(Delete::new(ctx.table, record.key())).await?;
    Ok(())
}

/// Removes one entity that a deletion has taken which has happened, with everything that goes because
/// it goes: then its id and its unique values are free, and nobody who takes them inherits a
/// reference. All that is left still does not refer to it, so it is reached from the root as before.
pub(crate) async fn finish_entity(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    key: &EntityKey,
) -> Result<(), Error> {
    let _running = ctx.running.begin(record.id());
    clear_all(ctx, record, key).await?;
    sweep(ctx, record, key).await
}

/// Calls a deletion off that has not been decided; false if it has been, or is gone.
pub(crate) async fn call_off(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
) -> Result<bool, Error> {
    Ok(ctx.commit_difference(vec![record.call_off(ctx.table)]).await?.is_done())
}
