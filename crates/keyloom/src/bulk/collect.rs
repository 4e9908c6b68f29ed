//! Collecting: writes a work row for each entity of the query. If it is interrupted, it begins again;
//! entities that it has found already are found once.

use std::sync::Arc;

use super::work_row::WorkRows;
use super::{BulkRecord, BulkState};
use crate::error::Error;
use crate::read::{ListQuery, Page};
use crate::shared::Shared;
use crate::write::{ACTIONS_MAX, PlannedAction};

/// How many entities one read returns, at most.
const PAGE: u32 = 500;

/// Collects the entities of an operation, as of one moment if the store has snapshots.
pub(super) async fn collect(shared: &Arc<Shared>, mut record: BulkRecord) -> Result<(), Error> {
    let db = record.db(shared).at_one_moment().await?;
    let mut query = ListQuery::from_item(&db, &record.query)?.limit(PAGE);
    let mut matched = 0;
    loop {
        let Page { items, next, .. } = query.read().await?;
        let ids: Vec<&str> = items.iter().map(|entity| entity.id()).collect();
        // One action writes the record, and one may check a permit.
        for some in ids.chunks(ACTIONS_MAX - 2) {
            matched += some.len() as u64;
            add(shared, &mut record, some, matched).await?;
        }
        match next {
            Some(next) => query = query.after(next),
            None => break,
        }
    }
    // Without a snapshot, an entity that moves can be found twice; and an earlier attempt may have
    // found others.
    let matched = WorkRows::new(shared, &record.operation.id).count().await?;
    let mut begun = record.operation.clone();
    (begun.state, begun.matched) = (BulkState::Running, matched);
    write(shared, vec![record.advance(&shared.table, &begun)]).await
}

/// Writes the work rows of some entities.
async fn add(
    shared: &Shared,
    record: &mut BulkRecord,
    ids: &[&str],
    matched: u64,
) -> Result<(), Error> {
    let mut found = record.operation.clone();
    found.matched = matched;
    let rows = WorkRows::new(shared, &record.operation.id);
    let mut actions: Vec<PlannedAction> = ids.iter().map(|id| rows.put(id)).collect();
    actions.push(record.advance(&shared.table, &found));
    write(shared, actions).await?;
    record.advanced(found);
    Ok(())
}

/// Writes rows of an operation in one transaction.
///
/// # Errors
///
/// [`Error::Contended`] if another process runs it, or it was canceled.
pub(super) async fn write(shared: &Shared, actions: Vec<PlannedAction>) -> Result<(), Error> {
    loop {
        let schema = shared.schema();
        let done = shared.write_context(&schema).commit_difference(actions.clone()).await;
        // The rows are the same under another model.
        if !shared.is_superseded(&schema, &done).await? {
            let is_done = done?.is_done();
            return if is_done { Ok(()) } else { Err(Error::Contended) };
        }
    }
}
