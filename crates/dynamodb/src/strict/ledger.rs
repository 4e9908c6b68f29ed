//! What requests consumed and touched, entry by entry, for a caller that adds it up by rules of its own.

use keyloom_store::IndexName;
use keyloom_value::Item;

use super::charge::{Charge, Space};
use super::usage::Access;

/// Something that a request consumed or touched.
#[derive(Clone, Debug, PartialEq)]
pub struct Metered {
    /// The global index; none if it is the table.
    pub index: Option<IndexName>,
    /// The key attributes: partition and sort key of the row that was written or read, only the
    /// partition key of a page, and nothing of a scan.
    pub key: Item,
    /// What it was.
    pub usage: Usage,
}

/// How a request used a row, a page or a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Usage {
    /// So many read units.
    Read(f64),
    /// So many write units.
    Write(f64),
    /// An action of a transaction: no other transaction can have the row meanwhile.
    Transaction,
}

/// The record of requests, if there is one.
#[derive(Debug, Default)]
pub(super) struct Ledger(Option<Vec<Metered>>);

impl Ledger {
    pub(super) fn start(&mut self) {
        self.0 = Some(vec![]);
    }

    pub(super) fn take(&mut self) -> Vec<Metered> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records units. A request is admitted before they are known, as one that consumes none.
    pub(super) fn add_units(&mut self, charge: &Charge) {
        let usage = match charge.used.access {
            _ if charge.used.units == 0.0 => return,
            Access::Read => Usage::Read(charge.used.units),
            Access::Write => Usage::Write(charge.used.units),
        };
        let entry =
            || Metered { index: charge.space.index.clone(), key: charge.attributes.clone(), usage };
        self.add(entry);
    }

    pub(super) fn add_scan(&mut self, space: &Space, units: f64) {
        let usage = Usage::Read(units);
        self.add(|| Metered { index: space.index.clone(), key: Item::new(), usage });
    }

    /// Records that a transaction has the row with this key.
    pub(super) fn add_row(&mut self, key: Item) {
        self.add(|| Metered { index: None, key, usage: Usage::Transaction });
    }

    fn add(&mut self, entry: impl FnOnce() -> Metered) {
        if let Some(entries) = &mut self.0 {
            entries.push(entry());
        }
    }
}
