//! Long work that goes on when nobody waits for it: deletions that are too large for one
//! transaction, rows that are written anew, what has expired. All of it is kept in the table, so
//! whoever comes next goes on: a deletion in its record, a backfill in the row of the model, and what
//! has expired in the index of times. `Operation` says how far each has come.
//!
//! The call that begins a deletion also brings it to its end; if it is dropped, or its process dies,
//! whoever runs [`Db::work`] or [`Db::resume_deletions`] goes on with it, or calls it off if it has not
//! happened. Opening a database does not: what has happened is hidden, however long it takes to remove.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::Query;
use keyloom_value::{Item, KeyBytes, KeyCondition, Number, Value};

use super::{LEFT, TOTAL};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::schema::{Schema, Stored};
use crate::stamp::time_ms;

/// How often the deletions of other processes are looked at.
const LOOK_MS: i64 = 5_000;
/// For how long the record of a deletion that has not happened must stay the same until the process
/// that began it counts as gone: it is written with every mark.
const SILENT_MS: i64 = 30_000;

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
    /// Rows are written anew because the model was changed.
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

/// Operations that calls of this process are at and that no row tells of.
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

/// What a process remembers of deletions that others have begun.
#[derive(Debug, Default)]
pub(crate) struct Others(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// When to look again, in milliseconds.
    next_ms: i64,
    /// How far each had come that has not happened, and since when.
    open: HashMap<String, (u64, i64)>,
}

/// The record of a deletion.
struct Record {
    deletion: String,
    state: Option<DeletionState>,
    left: u64,
    /// How many were marked.
    total: u64,
    row: Item,
}

impl Db {
    /// The long work that is under way: deletions that are too large for one transaction and
    /// backfills, of all processes; expiry, of this one. One read, and two more while rows are being
    /// written anew.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn operations(&self) -> Answer<'_, Vec<Operation>> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let records = self.deletion_records().await?;
            let mut all: Vec<Operation> =
                records.iter().filter_map(|record| self.operation_of(&schema, record)).collect();
            all.extend(self.backfill_operation(&schema).await?);
            all.extend(self.shared.calls.all());
            Ok(all)
        })
    }

    /// A large deletion that is under way.
    fn operation_of(&self, schema: &Schema, record: &Record) -> Option<Operation> {
        let Record { deletion, state, left, total, row } = record;
        let root = self.shared.write_context(schema).roots_of(row).into_iter().next()?;
        let (kind, done, total) = match state {
            Some(DeletionState::Sweeping) => {
                (OperationKind::Clearing, total.saturating_sub(*left), Some(*total))
            }
            Some(DeletionState::Marking) if row.contains(LEFT) => {
                (OperationKind::Deletion, *left, None)
            }
            Some(DeletionState::Marking | DeletionState::CalledOff) | None => return None,
        };
        let of = format!("{}/{}", schema.model().entity(root.entity).name, root.id);
        Some(Operation { kind, of, done, total, since_ms: time_ms(deletion).unwrap_or(0) })
    }

    /// The backfill, if rows must be written anew.
    async fn backfill_operation(&self, schema: &Schema) -> Result<Option<Operation>, Error> {
        if schema.pending.is_empty() {
            return Ok(None);
        }
        let (store, table) = (&*self.shared.store, &self.shared.table);
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

    /// Goes on with deletions that have happened and that nobody is removing, and calls those off
    /// that have not happened and that nobody is at: their calls were dropped, or their processes
    /// are gone, before the database was opened too. Returns how many there were. Reads nothing if
    /// there can be none; call it often. [`Db::work`] does.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn resume_deletions(&self) -> Answer<'_, u32> {
        Box::pin(async move {
            let others = &self.shared.others;
            if !self.shared.running.was_left() && !others.is_due(self.shared.now_ms()) {
                return Ok(0);
            }
            // If this is dropped, or fails, somebody looks again.
            others.look_again();
            let is_alone = self.shared.store.opening().is_some();
            let count = self.end_orphans(is_alone).await?;
            others.have_been_seen(self.shared.now_ms(), is_alone);
            Ok(count)
        })
    }

    async fn end_orphans(&self, is_alone: bool) -> Result<u32, Error> {
        let now_ms = self.shared.now_ms();
        let is_orphan = |record: &Record| {
            if self.shared.running.has(&record.deletion) {
                return false;
            }
            match record.state {
                Some(DeletionState::Marking) => {
                    is_alone || self.shared.others.is_silent(record, now_ms)
                }
                Some(DeletionState::Sweeping | DeletionState::CalledOff) => true,
                None => false,
            }
        };
        let records = self.deletion_records().await?;
        self.shared.others.forget_all_but(&records);
        let (mut count, mut is_contended) = (0, false);
        for record in records.into_iter().filter(is_orphan) {
            match self.end_deletion(&record).await {
                Ok(()) => count += 1,
                // Others were faster too often: it is tried again, after the other ones.
                Err(Error::Contended) => is_contended = true,
                Err(error) => return Err(error),
            }
        }
        if is_contended { Err(Error::Contended) } else { Ok(count) }
    }

    async fn end_deletion(&self, record: &Record) -> Result<(), Error> {
        let _running = self.shared.running.resume(&record.deletion);
        let schema = self.shared.schema();
        let writes = self.shared.write_context(&schema);
        let ended = match record.state {
            Some(DeletionState::Marking | DeletionState::CalledOff) => {
                writes.take_back(&record.deletion, &writes.roots_of(&record.row)).await
            }
            Some(DeletionState::Sweeping) => writes.resume(&record.deletion).await,
            None => Ok(()),
        };
        match ended {
            Err(error @ (Error::Store(_) | Error::Contended)) => Err(error),
            // Damage must not keep other deletions from their ends. Whoever meets a mark of this one
            // tries again.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    async fn deletion_records(&self) -> Result<Vec<Record>, Error> {
        let partition = deletion_key("").partition.into_vec();
        let mut query = Query::new(&self.shared.table, KeyCondition::equal(PARTITION, partition));
        let mut records = vec![];
        loop {
            let page = self.shared.store.query(query.clone()).await?;
            records.extend(page.items.into_iter().filter_map(Record::read));
            match page.last_key {
                None => return Ok(records),
                start => query.start = start,
            }
        }
    }
}

impl Record {
    fn read(row: Item) -> Option<Record> {
        let sort = KeyBytes::decode(row.get(SORT)?.as_b()?).ok()?;
        let deletion = sort.first()?.as_s()?.to_owned();
        let number = |name| {
            let number = row.get(name).and_then(Value::as_n).and_then(Number::to_i64);
            number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
        };
        let (left, total) = (number(LEFT), number(TOTAL));
        Some(Record { deletion, state: DeletionState::read(&row).ok(), left, total, row })
    }
}

impl Others {
    fn with<T>(&self, f: impl FnOnce(&mut Seen) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it is time to look.
    fn is_due(&self, now_ms: i64) -> bool {
        self.with(|seen| now_ms >= seen.next_ms)
    }

    fn look_again(&self) {
        self.with(|seen| seen.next_ms = i64::MIN);
    }

    /// All are looked at, and ended where they could be. Where no other process can have the store,
    /// once is enough.
    fn have_been_seen(&self, now_ms: i64, is_alone: bool) {
        let next_ms = if is_alone { i64::MAX } else { now_ms.saturating_add(LOOK_MS) };
        self.with(|seen| seen.next_ms = next_ms);
    }

    /// Whether a deletion that has not happened has not come further for long.
    fn is_silent(&self, record: &Record, now_ms: i64) -> bool {
        self.with(|seen| {
            let (left, since_ms) =
                seen.open.entry(record.deletion.clone()).or_insert((record.left, now_ms));
            if *left != record.left {
                (*left, *since_ms) = (record.left, now_ms);
            }
            now_ms.saturating_sub(*since_ms) >= SILENT_MS
        })
    }

    fn forget_all_but(&self, records: &[Record]) {
        self.with(|seen| {
            seen.open.retain(|name, _| records.iter().any(|record| record.deletion == *name));
        });
    }
}
