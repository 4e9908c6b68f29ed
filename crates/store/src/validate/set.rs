//! Requests about sets. Names are validated when they are created.

use crate::{Invalid, ListSets, ReadColumn, ReadSet, SetChange, TransactWrite};

/// Checks a read of a part of a set.
pub(crate) fn read_set(read: &ReadSet) -> Result<(), Invalid> {
    if read.chunks == 0 { Err(Invalid::LimitZero) } else { Ok(()) }
}

/// Checks a read of a column.
pub(crate) fn read_column(read: &ReadColumn) -> Result<(), Invalid> {
    if read.count == 0 { Err(Invalid::LimitZero) } else { Ok(()) }
}

/// Checks a listing of sets.
pub(crate) fn list_sets(list: &ListSets) -> Result<(), Invalid> {
    if list.limit == 0 { Err(Invalid::LimitZero) } else { Ok(()) }
}

/// Returns what its set changes add to the size of a transaction.
pub(crate) fn set_bytes(transaction: &TransactWrite) -> usize {
    transaction.sets.iter().map(SetChange::bytes).sum()
}
