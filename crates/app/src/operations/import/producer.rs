//! Groups entries into batches that fit into one transaction, for the importer.

use std::collections::HashMap;
use std::sync::mpsc::SyncSender;

use keyloom::Entry;
use keyloom_model::{Entity, EntityId, Layout};

use super::summary::Problem;

/// Maximum number of rows that a transaction can touch.
const ROWS_MAX: usize = 100;
/// A counted entity is estimated at this fraction of the rows it can touch.
const COUNTED_SHARE: usize = 8;
/// Maximum bytes of lines in one transaction, which can have 4 MB; a child counts twice.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// An entry and the line that it is from.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    pub(super) line: u64,
    /// Length of the line.
    pub(super) bytes: usize,
    pub(super) entry: Entry,
}

/// What was read, in the order of the lines, for the importer.
#[derive(Debug)]
pub(super) enum Work {
    /// Entries for one transaction, and the number of bytes read so far.
    Batch(Vec<Numbered>, u64),
    /// A line that is not an entry.
    Bad(Problem),
    /// The input cannot be read.
    Unreadable(String),
}

/// How many rows an entry of each kind is expected to touch.
pub(super) struct Batches {
    rows: HashMap<String, usize>,
}

impl Batches {
    pub(super) fn new(layout: &Layout) -> Batches {
        let rows = |(id, kind): (EntityId, &Entity)| {
            let most = layout.rows_max(id);
            // Counted entities mostly change the same counters, and few rows of a leaderboard. A batch
            // that turns out too large is split.
            let is_counted = !kind.counts.is_empty() || !kind.boards.is_empty();
            (kind.name.clone(), if is_counted { most.div_ceil(COUNTED_SHARE) } else { most })
        };
        Batches { rows: layout.model().entities().map(rows).collect() }
    }

    /// The number of rows that an entry is expected to touch. One of an unknown kind is rejected later.
    pub(super) fn rows(&self, entry: &Entry) -> usize {
        self.rows.get(&entry.entity).copied().unwrap_or(1)
    }
}

/// A batch under construction.
#[derive(Default)]
pub(super) struct Batch {
    entries: Vec<Numbered>,
    rows: usize,
    bytes: usize,
}

impl Batch {
    /// Adds an entry. Returns the previous batch if it is full.
    pub(super) fn add(&mut self, entry: Numbered, batches: &Batches) -> Option<Vec<Numbered>> {
        let (rows, bytes) = (batches.rows(&entry.entry), entry.bytes);
        let is_full = self.rows + rows > ROWS_MAX || self.bytes + bytes > BATCH_BYTES_MAX;
        let full = if is_full { self.take() } else { None };
        self.rows += rows;
        self.bytes += bytes;
        self.entries.push(entry);
        full
    }

    /// Takes the entries out, unless there are none.
    pub(super) fn take(&mut self) -> Option<Vec<Numbered>> {
        let batch = std::mem::take(self);
        (!batch.entries.is_empty()).then_some(batch.entries)
    }
}

/// Receives entries one by one and sends them on in batches.
pub struct Producer {
    batches: Batches,
    batch: Batch,
    to: SyncSender<Work>,
    /// How much of the total is done.
    pub(super) done: u64,
}

/// The importer accepts no more entries.
#[derive(Debug)]
pub struct ReceiverClosed;

impl Producer {
    pub(super) fn new(layout: &Layout, to: SyncSender<Work>) -> Producer {
        Producer { batches: Batches::new(layout), batch: Batch::default(), to, done: 0 }
    }

    /// Adds an entry; `before` is the number of entries before it.
    ///
    /// # Errors
    ///
    /// If the importer accepts no more.
    pub fn add(&mut self, entry: Entry, before: u64) -> Result<(), ReceiverClosed> {
        self.done = before;
        let bytes = entry.fields.size();
        self.entry(Numbered { line: before + 1, bytes, entry })
    }

    pub(super) fn entry(&mut self, entry: Numbered) -> Result<(), ReceiverClosed> {
        match self.batch.add(entry, &self.batches) {
            Some(full) => self.send(Work::Batch(full, self.done)),
            None => Ok(()),
        }
    }

    pub(super) fn bad(&mut self, problem: Problem) -> Result<(), ReceiverClosed> {
        self.finish()?;
        self.send(Work::Bad(problem))
    }

    /// Ends the import because the input cannot be read. The current batch is dropped.
    pub(super) fn unreadable(&mut self, reason: String) -> Result<(), ReceiverClosed> {
        self.send(Work::Unreadable(reason))?;
        Err(ReceiverClosed)
    }

    /// Sends the last batch.
    pub(super) fn finish(&mut self) -> Result<(), ReceiverClosed> {
        match self.batch.take() {
            Some(rest) => self.send(Work::Batch(rest, self.done)),
            None => Ok(()),
        }
    }

    fn send(&self, work: Work) -> Result<(), ReceiverClosed> {
        self.to.send(work).map_err(|_| ReceiverClosed)
    }
}
