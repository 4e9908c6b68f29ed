//! A large deletion from its record to its end: mark, apply, clear, sweep. Each stage is in a file of
//! its own.

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
    /// The entity to delete.
    pub(crate) root: &'r EntityKey,
    /// Its expected version.
    pub(crate) expected: Option<&'r str>,
    /// The request, whose other rows are written when the deletion is applied.
    pub(crate) request: &'r WriteRequest,
}

/// Deletes an entity that has the expected version, with everything that the deletion affects.
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
            Ok(true) => {
                return match resume_deletion(ctx, &record).await {
                    // It is applied; the background runner removes the rest by the new model.
                    Err(Error::ModelChanged) => Ok(()),
                    done => done,
                };
            }
            // Another writer needed one of the entities.
            Ok(false) => take_back(ctx, &record, marking.roots()).await?,
            Err(error) => {
                // If this fails, the next writer that finds one of its tombstones cancels the deletion.
                let _ = take_back(ctx, &record, marking.roots()).await;
                return Err(error);
            }
        }
    }
}

/// Marks everything, checks that no reference forbids the deletion, and applies it. Returns false if
/// it was canceled.
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

/// Removes what an applied deletion has hidden. A deletion without a record has ended.
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

/// Removes one hidden entity of an applied deletion, with everything that is deleted because of it:
/// then its id and its unique values are free, and an entity that reuses them inherits no reference.
/// What is left does not refer to it, so it can still be reached from the root.
pub(crate) async fn finish_entity(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    key: &EntityKey,
) -> Result<(), Error> {
    let _running = ctx.running.begin(record.id());
    clear_all(ctx, record, key).await?;
    sweep(ctx, record, key).await
}
