//! Which entities are seen, and how much of them. The one place that says so.
//!
//! An entity is not seen once the time in its `expires` field has come, nor once a deletion that
//! takes it is sweeping. A reference that such a deletion clears is not seen either. Both vanish at
//! one moment, long before they are removed: the rows of entities and counters say which deletions
//! take something from them, and the row of a deletion says whether it has happened.
//!
//! What was read before it was known that a deletion has happened is read again: otherwise a reader
//! could combine rows of a moment before it with what is true after it.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::OwnRow;
use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_store::Direction;
use keyloom_value::{KeyBytes, Value};

use crate::fetch::{RawKey, unreadable};
use crate::span::{Place, Span};
use crate::{DeletionState, Error, ReadCost, Reader, deletion_key};

/// How often something is read that deletions keep changing.
pub(crate) const ATTEMPTS_MAX: usize = 64;
/// How many records of deletions are read at once.
const PAGE_RECORDS: usize = 100;

/// What one read knows of deletions. It counts for everything that is read afterwards.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletions {
    /// Whether each has happened.
    known: BTreeMap<String, Standing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has not happened yet, and may never happen.
    Open,
    /// It has happened.
    Sweeping,
    /// It has no row any more. What still names it was left behind when it was called off: the row
    /// goes last.
    Gone,
}

/// Whether what was read counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Verdict {
    Valid,
    ReadAgain,
}

impl Deletions {
    pub(crate) fn has_happened(&self, deletion: &str) -> bool {
        self.known.get(deletion) == Some(&Standing::Sweeping)
    }

    /// Whether one of several has happened.
    pub(crate) fn any_happened(&self, deletions: &[String]) -> bool {
        deletions.iter().any(|deletion| self.has_happened(deletion))
    }
}

impl Reader<'_> {
    /// Whether an entity has expired by now.
    pub fn has_expired(&self, row: &OwnRow) -> bool {
        let time = self.layout.expiry().time(row);
        let order = time.and_then(|time| time.compare(&Value::from(self.now_ms)));
        order.is_some_and(std::cmp::Ordering::is_le)
    }

    /// What is seen of an entity whose own row was read; none if it is not seen. The row may be read
    /// again.
    ///
    /// # Errors
    ///
    /// If the store cannot tell, or a row is damaged.
    pub async fn seen(&self, row: OwnRow) -> Result<Option<OwnRow>, Error> {
        let mut deletions = Deletions::default();
        let mut row = row;
        for _ in 0..ATTEMPTS_MAX {
            let key = row.image.key.clone();
            if let Some(seen) =
                self.settle(vec![row], &mut deletions, &mut ReadCost::default()).await?
            {
                return Ok(seen.into_iter().next().flatten());
            }
            match self.get_any(&key).await? {
                Some(again) => row = again,
                None => return Ok(None),
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    /// What is seen of entities. None if their rows must be read again: some were read before it
    /// was known that a deletion has taken something from them. Reads only if a deletion is about to
    /// take something from one of them, and of each deletion once.
    pub(crate) async fn settle(
        &self,
        rows: Vec<OwnRow>,
        deletions: &mut Deletions,
        cost: &mut ReadCost,
    ) -> Result<Option<Vec<Option<OwnRow>>>, Error> {
        let lives = |row: &OwnRow| !self.has_expired(row);
        let of = |row: &OwnRow| row.pending.deletions().into_iter().map(str::to_owned).collect();
        let pending = rows.iter().filter(|row| !row.pending.is_empty() && lives(row));
        let named: BTreeSet<String> = pending.flat_map(|row| -> Vec<String> { of(row) }).collect();
        if self.learn(named, deletions, cost).await? == Verdict::ReadAgain {
            return Ok(None);
        }
        let seen = |mut row: OwnRow| {
            if row.pending.is_empty() {
                return Some(row).filter(lives);
            }
            let settled = row.pending.settled(&row.image, |by| deletions.has_happened(by));
            row.image = settled.filter(|_| lives(&row))?;
            Some(row)
        };
        Ok(Some(rows.into_iter().map(seen).collect()))
    }

    /// Learns how far deletions have come. One that had not happened when it was asked before may
    /// have happened meanwhile.
    pub(crate) async fn learn(
        &self,
        named: BTreeSet<String>,
        deletions: &mut Deletions,
        cost: &mut ReadCost,
    ) -> Result<Verdict, Error> {
        let is_open = |name: &String| {
            deletions.known.get(name).is_none_or(|standing| *standing == Standing::Open)
        };
        let open: Vec<String> = named.into_iter().filter(is_open).collect();
        let keys: Vec<RawKey> = open.iter().map(|name| (&deletion_key(name)).into()).collect();
        let rows = self.rows(&keys, cost).await?;
        let mut verdict = Verdict::Valid;
        for (name, row) in open.into_iter().zip(&rows) {
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
            deletions.known.insert(name, standing);
        }
        Ok(verdict)
    }

    /// Whether any of the large deletions that there are has happened.
    pub(crate) async fn has_any_happened(
        &self,
        deletions: &mut Deletions,
        cost: &mut ReadCost,
    ) -> Result<bool, Error> {
        let partition = deletion_key("").partition;
        let partition = (PARTITION.into(), partition.as_bytes());
        let place = Place { index: None, partition, sort: SORT.into() };
        let (mut span, mut named) = (Span::new(None, None), BTreeSet::new());
        loop {
            let page = self.page(&place, &span, Direction::Forward, PAGE_RECORDS).await?;
            cost.rows += page.scanned;
            cost.bytes += page.scanned_bytes;
            let sorts = page.items.iter().filter_map(|row| row.get(SORT)?.as_b());
            let names = sorts.filter_map(|sort| KeyBytes::decode_part(sort).ok());
            named.extend(names.filter_map(|(name, _)| name.as_s().map(str::to_owned)));
            let Some(last) = page.last_key.as_ref().and_then(|key| key.get(SORT)?.as_b()) else {
                break;
            };
            span = span.past(last);
        }
        let all: Vec<String> = named.iter().cloned().collect();
        let (Verdict::Valid | Verdict::ReadAgain) = self.learn(named, deletions, cost).await?;
        Ok(deletions.any_happened(&all))
    }

    /// After several reads: whether the deletions that had not happened at the first one have not
    /// happened since either.
    pub(crate) async fn confirm(
        &self,
        deletions: &mut Deletions,
        cost: &mut ReadCost,
    ) -> Result<Verdict, Error> {
        let open = deletions.known.iter().filter(|(_, standing)| **standing == Standing::Open);
        let open: BTreeSet<String> = open.map(|(name, _)| name.clone()).collect();
        self.learn(open, deletions, cost).await
    }
}
