//! Requests about sets. Names are checked where they are made.

use crate::{Invalid, ListSets, ReadColumn, ReadSet, SetChange, TransactWrite};

/// Whether a part can be asked for.
pub(crate) fn read_set(read: &ReadSet) -> Result<(), Invalid> {
    if read.chunks == 0 { Err(Invalid::LimitZero) } else { Ok(()) }
}

/// Whether the first cells can be asked for.
pub(crate) fn read_column(read: &ReadColumn) -> Result<(), Invalid> {
    if read.count == 0 { Err(Invalid::LimitZero) } else { Ok(()) }
}

/// Whether sets can be looked for.
pub(crate) fn list_sets(list: &ListSets) -> Result<(), Invalid> {
    if list.limit == 0 { Err(Invalid::LimitZero) } else { Ok(()) }
}

/// What its sets count for in the size of a transaction.
pub(crate) fn set_bytes(transaction: &TransactWrite) -> usize {
    transaction.sets.iter().map(SetChange::bytes).sum()
}
