//! Running background operations and their progress. All of them keep their progress in the table, so
//! that they can be resumed: a deletion in its record, a backfill in the row of the model, expiry in
//! the index of expiry times.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use keyloom_query::DeletionState;

use super::open_deletion::OpenDeletion;
use crate::answer::Answer;
use crate::bulk::{BulkState, Marker};
use crate::db::Db;
use crate::error::Error;
use crate::schema::{Schema, Stored};
use crate::shared::Shared;
use crate::stamp::time_ms;
use crate::system_rows::system_rows;
use crate::write::read_roots;

/// A running background operation and its progress: plain data.
///
/// [`Db::operations`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// What it works on: kind and id of the entity to delete, as in `folder/42`; the kind of expired
    /// entities, of those whose posting lists are folded, or of those of a bulk operation; `model` for
    /// a backfill.
    pub of: String,
    /// The number of entities, or rows of the table, that are done.
    pub done: u64,
    /// The total number, if known; approximate for rows of the table.
    pub total: Option<u64>,
    /// When it started, in milliseconds since 1970.
    pub since_ms: i64,
}

/// What a background operation does.
///
/// [`Db::operations`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OperationKind {
    /// A deletion that is too large for one transaction finds everything that it affects. It is not
    /// applied yet: readers see no change.
    Deletion,
    /// Such a deletion was applied; what it has hidden from readers is being removed.
    Clearing,
    /// Rows are being rebuilt after a change of the model.
    Backfill,
    /// Expired entities are being deleted.
    Expiry,
    /// What writes have left in deltas is being folded into posting lists.
    Folding,
    /// All entities of a query are being updated or deleted.
    Bulk,
}

impl OperationKind {
    /// All kinds.
    pub const ALL: [OperationKind; 6] = [
        OperationKind::Deletion,
        OperationKind::Clearing,
        OperationKind::Backfill,
        OperationKind::Expiry,
        OperationKind::Folding,
        OperationKind::Bulk,
    ];
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OperationKind::Deletion => "deletion",
            OperationKind::Clearing => "clearing",
            OperationKind::Backfill => "backfill",
            OperationKind::Expiry => "expiry",
            OperationKind::Folding => "folding",
            OperationKind::Bulk => "bulk",
        })
    }
}

/// Operations that calls of this process are running and that have no row.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<BTreeMap<u64, Operation>>);

/// A call runs an operation until this is dropped.
pub(crate) struct Call<'c> {
    calls: &'c Calls,
    number: u64,
}

impl Calls {
    pub(crate) fn begin(&self, kind: OperationKind, of: &str, since_ms: i64) -> Call<'_> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = calls.last_key_value().map_or(0, |(last, _)| last + 1);
        let of = of.to_owned();
        calls.insert(number, Operation { kind, of, done: 0, total: None, since_ms });
        Call { calls: self, number }
    }

    fn all(&self) -> Vec<Operation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

impl Call<'_> {
    pub(crate) fn is_done(&self, count: u64) {
        let mut calls = self.calls.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(operation) = calls.get_mut(&self.number) {
            operation.done += count;
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.calls.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

impl Db {
    /// Returns the running background operations: large deletions, backfills and bulk operations of all
    /// processes and tenants, and expiry and folding of this one. Two reads, two more during a backfill,
    /// and one for each bulk operation.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, OperationKind, events::Next};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// db.list("task", "all").delete_all().start().await?;
    /// let running = db.operations().await?;
    /// assert_eq!((running[0].kind, running[0].of.as_str()), (OperationKind::Bulk, "task"));
    /// while db.advance_bulk().await? == Next::Now {}
    /// assert!(db.operations().await?.is_empty());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn operations(&self) -> Answer<'_, Vec<Operation>> {
        Box::pin(operations(&self.shared))
    }
}

async fn operations(shared: &Shared) -> Result<Vec<Operation>, Error> {
    let schema = shared.schema();
    let deletions = OpenDeletion::all(shared).await?;
    let deletions = deletions.iter();
    let mut all: Vec<Operation> =
        deletions.filter_map(|deletion| deletion_operation(&schema, deletion)).collect();
    all.extend(backfill_operation(shared, &schema).await?);
    all.extend(bulk_operations(shared).await?);
    all.extend(shared.calls.all());
    Ok(all)
}

/// Returns the operation of a large deletion.
fn deletion_operation(schema: &Schema, deletion: &OpenDeletion) -> Option<Operation> {
    let OpenDeletion { record, state, left, total, row } = deletion;
    let root = read_roots(&schema.layouts.current, row).into_iter().next()?;
    let (kind, done, total) = match state {
        Some(DeletionState::Sweeping) => {
            (OperationKind::Clearing, total.saturating_sub(*left), Some(*total))
        }
        Some(DeletionState::Marking) if deletion.is_large() => {
            (OperationKind::Deletion, *left, None)
        }
        Some(DeletionState::Marking | DeletionState::CalledOff) | None => return None,
    };
    let of = format!("{}/{}", schema.model().entity(root.entity).name, root.id);
    Some(Operation { kind, of, done, total, since_ms: time_ms(record.id()).unwrap_or(0) })
}

/// Returns the bulk operations that have not ended.
async fn bulk_operations(shared: &Shared) -> Result<Vec<Operation>, Error> {
    let markers = system_rows(&*shared.store, &shared.table, Marker::partition()).await?;
    let mut all = vec![];
    for marker in markers.iter().filter_map(Marker::read) {
        let record = marker.record(shared).await?;
        let Some(bulk) = record.map(|record| record.operation) else { continue };
        if !bulk.state.is_ended() {
            all.push(Operation {
                kind: OperationKind::Bulk,
                done: bulk.done(),
                total: (bulk.state == BulkState::Running).then_some(bulk.matched),
                since_ms: bulk.started_ms,
                of: bulk.entity,
            });
        }
    }
    Ok(all)
}

/// Returns the backfill, if rows must be rebuilt.
async fn backfill_operation(shared: &Shared, schema: &Schema) -> Result<Option<Operation>, Error> {
    if schema.pending.is_empty() {
        return Ok(None);
    }
    let (store, table) = (&*shared.store, &shared.table);
    let stored = Stored::load(store, table).await?;
    let current = stored.as_ref().and_then(Stored::current);
    let Some(revision) = current.filter(|revision| !revision.pending.is_empty()) else {
        return Ok(None);
    };
    let done = revision.progress.done;
    let rows = store.describe_table(table.clone()).await?.items;
    Ok(Some(Operation {
        kind: OperationKind::Backfill,
        of: "model".to_owned(),
        done,
        total: Some(rows.max(done)),
        since_ms: revision.since_ms,
    }))
}
