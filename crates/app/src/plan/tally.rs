//! Adding up what a sample consumed: by kind of work, by partition key and by row.

use std::collections::BTreeMap;

use keyloom_dynamodb::{Metered, Usage};
use keyloom_model::workload::DeclaredQuery;
use keyloom_model::{EntityId, Layout};

use super::part::{Part, Place, classify};

/// What consumed units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Creates, updates and deletes of a kind.
    Write(EntityId),
    /// Reads of a query.
    Read(DeclaredQuery),
    /// Moving deltas into posting lists.
    Folding,
    /// Moving changes into scores.
    Settling,
}

/// Read and write units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Units {
    pub(super) read: f64,
    pub(super) write: f64,
}

/// The use of a partition key.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyUse {
    pub(super) units: Units,
    /// Write units by what they are for: one partition can have rows of several parts.
    pub(super) by_part: BTreeMap<Part, f64>,
    /// Write units by who wrote.
    pub(super) by_work: BTreeMap<Work, f64>,
    /// How many writes and reads the sample has of it.
    pub(super) seen: u64,
}

/// The use of a row by transactions.
#[derive(Clone, Debug, Default)]
pub(super) struct RowUse {
    pub(super) transactions: f64,
    pub(super) by_work: BTreeMap<Work, f64>,
    pub(super) seen: u64,
}

/// A row: its partition and its sort key.
pub(super) type RowPlace = (Place, Vec<u8>);

/// What a sample consumed. Everything is what the whole workload does in `seconds`.
pub(super) struct Tally {
    pub(super) layout: Layout,
    pub(super) seconds: f64,
    pub(super) by_work: BTreeMap<Work, Units>,
    pub(super) keys: BTreeMap<Place, KeyUse>,
    pub(super) rows: BTreeMap<(Part, RowPlace), RowUse>,
}

impl Tally {
    pub(super) fn new(layout: Layout, seconds: f64) -> Tally {
        let (by_work, keys, rows) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Tally { layout, seconds, by_work, keys, rows }
    }

    /// Adds what one operation consumed, which stands for `weight` of them.
    pub(super) fn add(&mut self, work: Work, weight: f64, metered: Vec<Metered>) {
        let total = self.by_work.entry(work).or_default();
        let writer = match work {
            Work::Write(entity) => Some(entity),
            Work::Read(_) | Work::Folding | Work::Settling => None,
        };
        for one in metered {
            let index = one.index.as_ref().map(ToString::to_string);
            let found = classify(&self.layout, index.as_deref(), &one.key, writer);
            let key = self.keys.entry(found.place.clone()).or_default();
            match one.usage {
                Usage::Read(units) => {
                    total.read += units * weight;
                    key.units.read += units * weight;
                    key.by_part.entry(found.part).or_default();
                    key.seen += 1;
                }
                Usage::Write(units) => {
                    total.write += units * weight;
                    key.units.write += units * weight;
                    *key.by_part.entry(found.part).or_default() += units * weight;
                    *key.by_work.entry(work).or_default() += units * weight;
                    key.seen += 1;
                }
                Usage::Transaction => {
                    let place = (found.part, (found.place, found.sort));
                    let row = self.rows.entry(place).or_default();
                    row.transactions += weight;
                    *row.by_work.entry(work).or_default() += weight;
                    row.seen += 1;
                }
            }
        }
    }
}

impl KeyUse {
    /// The part that wrote the most.
    pub(super) fn part(&self) -> Part {
        let most = self.by_part.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        most.map_or(Part::System, |(part, _)| *part)
    }
}
