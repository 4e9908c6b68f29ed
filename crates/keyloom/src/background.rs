//! Long work that goes on when nobody waits for it: deletions that are too large for one
//! transaction. The call that begins one also brings it to its end; if it is dropped, or its process
//! dies, whoever runs [`Db::work`] goes on with it, or calls it off if it has not happened.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::Query;
use keyloom_value::{Item, KeyBytes, KeyCondition, Number, Value};

use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::upkeep::LEFT;

/// How often the deletions of other processes are looked at.
const LOOK_MS: i64 = 5_000;
/// For how long the record of a deletion that has not happened must stay the same until the process
/// that began it counts as gone: it is written with every mark.
const SILENT_MS: i64 = 30_000;

/// A deletion that is too large for one transaction, and not at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletionProgress {
    /// The kind of entity that is deleted.
    pub entity: String,
    /// Its id.
    pub id: String,
    /// Whether it has happened. Then everything it takes is gone for readers; before, nothing is.
    pub has_happened: bool,
    /// How many entities are still to be removed, and references to be cleared. Before it has
    /// happened: how many were found so far.
    pub left: u64,
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
    row: Item,
}

impl Db {
    /// The deletions that are under way, of all processes: those that are too large for one
    /// transaction.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn deletions(&self) -> Answer<'_, Vec<DeletionProgress>> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let upkeep = self.shared.upkeep(&schema);
            let mut all = vec![];
            for record in self.deletion_records().await? {
                let Record { state, left, row, .. } = record;
                let Some(root) = upkeep.roots_of(&row).into_iter().next() else { continue };
                let has_happened = match state {
                    Some(DeletionState::Sweeping) => true,
                    Some(DeletionState::Marking) if row.contains(LEFT) => false,
                    Some(DeletionState::Marking | DeletionState::CalledOff) | None => continue,
                };
                let entity = schema.model().entity(root.entity).name.clone();
                all.push(DeletionProgress { entity, id: root.id, has_happened, left });
            }
            Ok(all)
        })
    }

    /// Goes on with deletions that have happened and that nobody is removing, and calls those off
    /// that have not happened and that nobody is at: their calls were dropped, or their processes
    /// are gone. Returns how many there were. Reads nothing if there can be none; call it often.
    /// [`Db::work`] does.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn resume_deletions(&self) -> Answer<'_, u32> {
        Box::pin(async move {
            let is_alone = self.shared.store.opening().is_some();
            let is_due = self.shared.others.is_due(self.shared.now_ms(), is_alone);
            match self.shared.running.was_left() || is_due {
                true => self.end_orphans(is_alone).await,
                false => Ok(0),
            }
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
        let mut count = 0;
        for record in records.into_iter().filter(is_orphan) {
            self.end_deletion(&record).await?;
            count += 1;
        }
        Ok(count)
    }

    /// Ends all deletions that were begun before the database was opened.
    pub(crate) async fn end_deletions(&self) -> Result<(), Error> {
        for record in self.deletion_records().await? {
            self.end_deletion(&record).await?;
        }
        Ok(())
    }

    async fn end_deletion(&self, record: &Record) -> Result<(), Error> {
        let schema = self.shared.schema();
        let upkeep = self.shared.upkeep(&schema);
        let ended = match record.state {
            Some(DeletionState::Marking | DeletionState::CalledOff) => {
                upkeep.take_back(&record.deletion, &upkeep.roots_of(&record.row)).await
            }
            Some(DeletionState::Sweeping) => upkeep.resume(&record.deletion).await,
            None => Ok(()),
        };
        match ended {
            Err(Error::Store(error)) => Err(error.into()),
            // Damage must not keep a database from being opened, and verified. Whoever meets a mark
            // of the deletion tries again.
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
        let left = row.get(LEFT).and_then(Value::as_n).and_then(Number::to_i64);
        let left = left.and_then(|left| u64::try_from(left).ok()).unwrap_or(0);
        Some(Record { deletion, state: DeletionState::read(&row).ok(), left, row })
    }
}

impl Others {
    fn with<T>(&self, f: impl FnOnce(&mut Seen) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it is time to look. Where no other process can have the store, once is enough.
    fn is_due(&self, now_ms: i64, is_alone: bool) -> bool {
        self.with(|seen| {
            let is_due = now_ms >= seen.next_ms;
            if is_due {
                seen.next_ms = if is_alone { i64::MAX } else { now_ms.saturating_add(LOOK_MS) };
            }
            is_due
        })
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
