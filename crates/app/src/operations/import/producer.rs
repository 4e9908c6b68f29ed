//! Putting entries together, as many as fit into one transaction, for those who take them in.

use std::collections::HashMap;
use std::sync::mpsc::SyncSender;

use keyloom::Entry;
use keyloom_model::{Entity, EntityId, Layout};

use super::summary::Problem;

/// As many rows as a transaction can touch.
const ROWS_MAX: usize = 100;
/// An entity that is counted is taken for such a part of the most rows that it could touch.
const COUNTED_SHARE: usize = 8;
/// As many bytes of lines as are put in one transaction, which can have 4 MB; a child counts twice.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// An entry and the line that it is from.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    pub(super) line: u64,
    /// Of the line.
    pub(super) bytes: usize,
    pub(super) entry: Entry,
}

/// What was read, in the order of the lines.
#[derive(Debug)]
pub(super) enum Work {
    /// Entries for one transaction, and how many bytes were read when they were.
    Batch(Vec<Numbered>, u64),
    /// A line that holds no entry.
    Bad(Problem),
    /// The lines cannot be read.
    Unreadable(String),
}

/// How many rows a change of each kind can touch.
pub(super) struct Batches {
    rows: HashMap<String, usize>,
}

impl Batches {
    pub(super) fn new(layout: &Layout) -> Batches {
        let rows = |(id, kind): (EntityId, &Entity)| {
            let most = layout.rows_max(id);
            // Entities that are counted mostly change the same numbers, and few rows of a board. A
            // batch that is too large after all is taken apart.
            let is_counted = !kind.counts.is_empty() || !kind.boards.is_empty();
            (kind.name.clone(), if is_counted { most.div_ceil(COUNTED_SHARE) } else { most })
        };
        Batches { rows: layout.model().entities().map(rows).collect() }
    }

    /// As many rows as an entry is expected to touch. One of no kind touches none, and is refused
    /// later.
    pub(super) fn rows(&self, entry: &Entry) -> usize {
        self.rows.get(&entry.entity).copied().unwrap_or(1)
    }
}

/// A batch that is being put together.
#[derive(Default)]
pub(super) struct Batch {
    entries: Vec<Numbered>,
    rows: usize,
    bytes: usize,
}

impl Batch {
    /// Adds an entry; returns those before it if there is no room.
    pub(super) fn add(&mut self, entry: Numbered, batches: &Batches) -> Option<Vec<Numbered>> {
        let (rows, bytes) = (batches.rows(&entry.entry), entry.bytes);
        let is_full = self.rows + rows > ROWS_MAX || self.bytes + bytes > BATCH_BYTES_MAX;
        let full = if is_full { self.take() } else { None };
        self.rows += rows;
        self.bytes += bytes;
        self.entries.push(entry);
        full
    }

    /// What is in it, if anything is.
    pub(super) fn take(&mut self) -> Option<Vec<Numbered>> {
        let batch = std::mem::take(self);
        (!batch.entries.is_empty()).then_some(batch.entries)
    }
}

/// Where entries go to, one after the other.
pub struct Producer {
    batches: Batches,
    batch: Batch,
    to: SyncSender<Work>,
    /// How many parts of the whole are behind.
    pub(super) done: u64,
}

/// Whoever took entries in does not want any more.
#[derive(Debug)]
pub struct NobodyListens;

impl Producer {
    pub(super) fn new(layout: &Layout, to: SyncSender<Work>) -> Producer {
        Producer { batches: Batches::new(layout), batch: Batch::default(), to, done: 0 }
    }

    /// An entry that was made, and how many were made before.
    ///
    /// # Errors
    ///
    /// If no more are wanted.
    pub fn add(&mut self, entry: Entry, before: u64) -> Result<(), NobodyListens> {
        self.done = before;
        let bytes = entry.fields.size();
        self.entry(Numbered { line: before + 1, bytes, entry })
    }

    pub(super) fn entry(&mut self, entry: Numbered) -> Result<(), NobodyListens> {
        match self.batch.add(entry, &self.batches) {
            Some(full) => self.send(Work::Batch(full, self.done)),
            None => Ok(()),
        }
    }

    pub(super) fn bad(&mut self, problem: Problem) -> Result<(), NobodyListens> {
        self.finish()?;
        self.send(Work::Bad(problem))
    }

    /// There are no more, because they cannot be read. What was read is not taken in.
    pub(super) fn unreadable(&mut self, reason: String) -> Result<(), NobodyListens> {
        self.send(Work::Unreadable(reason))?;
        Err(NobodyListens)
    }

    /// Sends what is left.
    pub(super) fn finish(&mut self) -> Result<(), NobodyListens> {
        match self.batch.take() {
            Some(rest) => self.send(Work::Batch(rest, self.done)),
            None => Ok(()),
        }
    }

    fn send(&self, work: Work) -> Result<(), NobodyListens> {
        self.to.send(work).map_err(|_| NobodyListens)
    }
}
