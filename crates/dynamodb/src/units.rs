//! Capacity units, by the service's rules.
//!
//! Reading: one unit per 4 KB, half a unit if eventually consistent, two in a transaction.
//! Writing: one unit per 1 KB of the larger of old and new item, two in a transaction; every index
//! that changes is charged for its own row, and for two if the index key changes.

use keyloom_store::{Consistency, IndexSpec, TableSpec};
use keyloom_value::Item;

use crate::index_rows::index_row;

const READ_BYTES: usize = 4096;
const WRITE_BYTES: usize = 1024;

/// Returns the units of reading `bytes`. A missing item costs as much as a small one.
pub(crate) fn read_units(bytes: usize, consistency: Consistency) -> f64 {
    let units = bytes.div_ceil(READ_BYTES).max(1) as f64;
    match consistency {
        Consistency::Strong => units,
        Consistency::Eventual => units / 2.0,
    }
}

/// Returns the units of reading an item in a transaction.
pub(crate) fn transact_read_units(bytes: usize) -> f64 {
    2.0 * read_units(bytes, Consistency::Strong)
}

/// Returns the units of writing `bytes`.
pub(crate) fn write_units(bytes: usize) -> f64 {
    bytes.div_ceil(WRITE_BYTES).max(1) as f64
}

/// A row of an index that a write changes.
pub(crate) struct IndexWrite {
    pub(crate) row: Item,
    pub(crate) units: f64,
}

/// Returns what replacing one image with another writes to an index: nothing if its row stays the
/// same, and two rows if the index key changes.
pub(crate) fn index_writes(
    spec: &TableSpec,
    index: &IndexSpec,
    old: Option<&Item>,
    new: Option<&Item>,
) -> Vec<IndexWrite> {
    let row = |image: Option<&Item>| image.and_then(|image| index_row(spec, index, image));
    let write = |row: Item| IndexWrite { units: write_units(row.size()), row };
    match (row(old), row(new)) {
        (Some(old), Some(new)) if old == new => vec![],
        (Some(old), Some(new)) if index.key.of(&old) == index.key.of(&new) => {
            let units = write_units(old.size().max(new.size()));
            vec![IndexWrite { row: new, units }]
        }
        (old, new) => old.into_iter().chain(new).map(write).collect(),
    }
}
