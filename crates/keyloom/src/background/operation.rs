//! Background operations that are under way, and how far each has come. All of them keep their
//! progress in the table, so whoever comes next resumes them: a deletion in its record, a backfill in
//! the row of the model, and what has expired in the index of times.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use keyloom_query::DeletionState;

use super::open_deletion::OpenDeletion;
use crate::answer::Answer;
use crate::db::{Db, Shared};
use crate::error::Error;
use crate::schema::{Schema, Stored};
use crate::stamp::time_ms;
use crate::write::read_roots;

/// Long work that is under way, and how far it has come: plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// What is done.
    pub kind: OperationKind,
    /// What it is done to: the kind and the id of the entity that is deleted, as in `folder/42`; the
    /// kind of entities that expire; `model` of a backfill.
    pub of: String,
    /// How many entities, or rows of the table, are done.
    pub done: u64,
    /// How many there are, if that is known; of rows of the table, about.
    pub total: Option<u64>,
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
}

/// What a background operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OperationKind {
    /// A deletion that is too large for one transaction looks for what goes with its entity. It has
    /// not happened yet: nothing is changed for readers.
    Deletion,
    /// Such a deletion has happened, everything it takes is gone for readers, and is being removed.
    Clearing,
    /// Rows are rebuilt because the model was changed.
    Backfill,
    /// Entities are deleted whose time has come.
    Expiry,
}

impl OperationKind {
    /// Every kind.
    pub const ALL: [OperationKind; 4] = [
        OperationKind::Deletion,
        OperationKind::Clearing,
        OperationKind::Backfill,
        OperationKind::Expiry,
    ];
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OperationKind::Deletion => "deletion",
            OperationKind::Clearing => "clearing",
            OperationKind::Backfill => "backfill",
            OperationKind::Expiry => "expiry",
        })
    }
}

/// Operations that calls of this process are at and that have no row.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<BTreeMap<u64, Operation>>);

/// A call is at an operation until this is dropped.
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
    /// The long work that is under way: deletions that are too large for one transaction and
    /// backfills, of all processes; expiry, of this one. One read, and two more while rows are being
    /// rebuilt.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn operations(&self) -> Answer<'_, Vec<Operation>> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let deletions = OpenDeletion::all(&self.shared).await?;
            let mut all: Vec<Operation> = deletions
                .iter()
                .filter_map(|deletion| deletion_operation(&schema, deletion))
                .collect();
            all.extend(backfill_operation(&self.shared, &schema).await?);
            all.extend(self.shared.calls.all());
            Ok(all)
        })
    }
}

/// A large deletion that is under way.
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

/// The backfill, if rows must be rebuilt.
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
