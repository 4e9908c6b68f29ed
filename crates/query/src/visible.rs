//! Which entities are visible, and what of them. Only this file decides it.
//!
//! An entity is invisible once the time in its `expires` field has come, or once a deletion that takes
//! it is sweeping. So is a reference that such a deletion clears. Both vanish at one moment, long
//! before they are removed: the rows of entities and counters name the deletions that take something
//! from them, and the record of a deletion says whether it has happened.
//!
//! Rows that were read before a deletion was known to have happened are read again: otherwise a reader
//! could combine rows from before it with what is true after it.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::OwnRow;
use keyloom_value::{KeyBytes, Value};

use crate::error::unreadable;
use crate::fetch::{RawKey, Rows};
use crate::partition::Partition;
use crate::span::Span;
use crate::{DeletionState, Error, ReadCost, Reader, deletion_key};

/// How often a read is repeated that deletions keep changing.
pub(crate) const ATTEMPTS_MAX: usize = 64;
/// How many records of deletions one request reads.
const PAGE_RECORDS: usize = 100;

/// A read that takes several requests: what they have cost, and what is known of deletions. That
/// holds for everything that is read afterwards.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadState {
    pub(crate) cost: ReadCost,
    /// How far each deletion had come.
    known: BTreeMap<String, Standing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has not happened yet, and may never happen.
    Open,
    /// It has happened.
    Sweeping,
    /// It has no record any more. What still names it was left behind when it was canceled: the record
    /// goes last.
    Gone,
}

/// Whether what was read is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Verdict {
    Valid,
    ReadAgain,
}

/// Whether an entity has expired.
pub(crate) fn has_expired(reader: &Reader<'_>, row: &OwnRow) -> bool {
    let Some(time) = reader.layout.expiry().time(row) else { return false };
    let order = time.compare(&Value::from(reader.now_ms));
    let has_expired = order.is_some_and(std::cmp::Ordering::is_le);
    if let (Some(noted), false) = (reader.noted, has_expired) {
        let time_ms = time.as_n().and_then(|time| time.to_i64());
        time_ms.into_iter().for_each(|time_ms| noted.note_expiry(time_ms));
    }
    has_expired
}

impl ReadState {
    /// Whether a deletion has happened, as far as is known.
    pub(crate) fn has_happened(&self, deletion: &str) -> bool {
        self.known.get(deletion) == Some(&Standing::Sweeping)
    }

    /// Whether one of several deletions has happened, as far as is known.
    pub(crate) fn any_happened(&self, deletions: &[String]) -> bool {
        deletions.iter().any(|deletion| self.has_happened(deletion))
    }

    /// Returns what is visible of entities. None if their rows must be read again: some were read
    /// before it was known that a deletion has taken something from them. Reads only if a deletion is
    /// about to take something from one of them, and each deletion once.
    pub(crate) async fn settle(
        &mut self,
        reader: &Reader<'_>,
        rows: Vec<OwnRow>,
    ) -> Result<Option<Vec<Option<OwnRow>>>, Error> {
        let lives = |row: &OwnRow| !has_expired(reader, row);
        let of = |row: &OwnRow| row.pending.deletions().into_iter().map(str::to_owned).collect();
        let pending = rows.iter().filter(|row| !row.pending.is_empty() && lives(row));
        let named: BTreeSet<String> = pending.flat_map(|row| -> Vec<String> { of(row) }).collect();
        if self.learn(reader.rows(), named).await? == Verdict::ReadAgain {
            return Ok(None);
        }
        let seen = |mut row: OwnRow| {
            if row.pending.is_empty() {
                return Some(row).filter(lives);
            }
            let entity = reader.layout.model().entity(row.image.key.entity);
            let settled = row.pending.settled((&row.image, entity), |by| self.has_happened(by));
            row.image = settled.filter(|_| lives(&row))?;
            Some(row)
        };
        Ok(Some(rows.into_iter().map(seen).collect()))
    }

    /// Reads how far deletions have come. One that had not happened before may have happened since.
    pub(crate) async fn learn(
        &mut self,
        rows: Rows<'_>,
        named: BTreeSet<String>,
    ) -> Result<Verdict, Error> {
        let is_open =
            |name: &String| self.known.get(name).is_none_or(|standing| *standing == Standing::Open);
        let open: Vec<String> = named.into_iter().filter(is_open).collect();
        let keys: Vec<RawKey> = open.iter().map(|name| (&deletion_key(name)).into()).collect();
        let records = rows.get_many(&keys, &mut self.cost).await?;
        let mut verdict = Verdict::Valid;
        for (name, row) in open.into_iter().zip(&records) {
            let state = row
                .as_ref()
                .map(|row| DeletionState::read(row).map_err(|reason| unreadable(row, reason)));
            let standing = match state.transpose()? {
                Some(DeletionState::Sweeping) => Standing::Sweeping,
                Some(DeletionState::Marking | DeletionState::CalledOff) => Standing::Open,
                None => Standing::Gone,
            };
            if standing != Standing::Open {
                verdict = Verdict::ReadAgain;
            }
            self.known.insert(name, standing);
        }
        Ok(verdict)
    }

    /// Reads the records of all large deletions. Returns whether any of them has happened.
    pub(crate) async fn has_any_happened(&mut self, rows: Rows<'_>) -> Result<bool, Error> {
        let key = deletion_key("").partition;
        let partition = Partition::of_table(key.as_bytes());
        let (mut span, mut named) = (Span::ALL, BTreeSet::new());
        loop {
            let page = partition.first(&span, PAGE_RECORDS).read(rows, &mut self.cost).await?;
            let sorts = page.items.iter().filter_map(|row| partition.sort_of(row).ok());
            let names = sorts.filter_map(|sort| KeyBytes::decode_part(sort).ok());
            named.extend(names.filter_map(|(name, _)| name.as_s().map(str::to_owned)));
            let Some(last) = &page.last_key else { break };
            span = span.past(partition.sort_of(last)?);
        }
        let all: Vec<String> = named.iter().cloned().collect();
        let (Verdict::Valid | Verdict::ReadAgain) = self.learn(rows, named).await?;
        Ok(self.any_happened(&all))
    }

    /// After several reads: whether the deletions that had not happened at the first one have not
    /// happened since either.
    pub(crate) async fn confirm(&mut self, rows: Rows<'_>) -> Result<Verdict, Error> {
        let open = self.known.iter().filter(|(_, standing)| **standing == Standing::Open);
        let open: BTreeSet<String> = open.map(|(name, _)| name.clone()).collect();
        self.learn(rows, open).await
    }
}
