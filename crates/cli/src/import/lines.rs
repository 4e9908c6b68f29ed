//! Reading lines, and putting as many of them together as fit into one transaction. Refuses lines
//! that no entity can have: too long, not UTF-8, no JSON.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::sync::mpsc::SyncSender;

use keyloom::{Entry, Error};
use keyloom_model::Layout;

use super::tally::Problem;

/// As many bytes as a line can have: an entity has at most 320 KB, and JSON may take six bytes
/// for one.
const LINE_BYTES_MAX: u64 = 4 << 20;
/// As many rows as a transaction can touch.
const ROWS_MAX: usize = 100;
/// As many bytes of lines as are put in one transaction, which can have 4 MB; a child counts twice.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// Where lines come from.
pub(super) struct Source {
    pub(super) lines: Box<dyn BufRead + Send>,
    /// How many bytes there are, if that is known.
    pub(super) bytes: Option<u64>,
}

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
        let kinds = layout.model().entities();
        Batches { rows: kinds.map(|(id, kind)| (kind.name.clone(), layout.rows_max(id))).collect() }
    }

    /// The most rows that an entry can touch. One of no kind touches none, and is refused later.
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

/// Reads all lines and sends what is in them, until nobody listens.
pub(super) fn read(mut lines: Box<dyn BufRead + Send>, batches: &Batches, to: &SyncSender<Work>) {
    let (mut batch, mut text) = (Batch::default(), Vec::new());
    let (mut line, mut bytes) = (0, 0);
    loop {
        line += 1;
        let entry = match next_line(&mut *lines, &mut text) {
            Ok(Line::End) => break,
            Ok(Line::Whole) if text.trim_ascii().is_empty() => {
                bytes += text.len() as u64;
                continue;
            }
            Ok(Line::Whole) => Entry::from_json(text.trim_ascii_end()).map_err(no_entry),
            Ok(Line::TooLong) => Err(format!(
                "The line has more than {} MiB, and no entity is that large.",
                LINE_BYTES_MAX >> 20
            )),
            Err(error) => {
                let _ = to.send(Work::Unreadable(format!("line {line} cannot be read: {error}.")));
                return;
            }
        };
        let before = bytes;
        bytes += text.len() as u64;
        let sent = match entry {
            Ok(entry) => {
                let numbered = Numbered { line, bytes: text.len(), entry };
                let full = batch.add(numbered, batches);
                full.map_or(Ok(()), |full| to.send(Work::Batch(full, before)))
            }
            Err(reason) => {
                let full = batch.take().map(|full| Work::Batch(full, before));
                let bad = Work::Bad(Problem { line, reason });
                full.into_iter().chain([bad]).try_for_each(|work| to.send(work))
            }
        };
        if sent.is_err() {
            return;
        }
    }
    if let Some(rest) = batch.take() {
        let _ = to.send(Work::Batch(rest, bytes));
    }
}

/// Why a line holds no entry. Which line it is, is told anyway.
fn no_entry(error: Error) -> String {
    let Error::Document(error) = error else { return error.to_string() };
    let reason = error.to_string();
    let reason = reason.strip_prefix("line 1, ").unwrap_or(&reason);
    format!("This is no JSON of an entry: {}.", reason.trim_end_matches('.'))
}

enum Line {
    Whole,
    /// Its end was passed over.
    TooLong,
    End,
}

fn next_line(lines: &mut dyn BufRead, text: &mut Vec<u8>) -> std::io::Result<Line> {
    text.clear();
    if Read::take(&mut *lines, LINE_BYTES_MAX).read_until(b'\n', text)? == 0 {
        return Ok(Line::End);
    }
    let is_whole = text.ends_with(b"\n") || (text.len() as u64) < LINE_BYTES_MAX;
    if is_whole {
        return Ok(Line::Whole);
    }
    loop {
        let rest = lines.fill_buf()?;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let passed = end.map_or(rest.len(), |end| end + 1);
        lines.consume(passed);
        if end.is_some() || passed == 0 {
            return Ok(Line::TooLong);
        }
    }
}
