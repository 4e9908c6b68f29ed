//! Columns: one attribute of every item of a table by the item's ordinal, so that some ordinals can
//! be put into the order of that attribute without reading their items.
//!
//! A column follows from the items, as an index does. It keeps the first bytes of the attribute
//! alone: what is equal in them is left to the reader to tell apart by the items.

use keyloom_value::{Item, Name, Number, Value};

use crate::{Direction, IndexName, Members, TableName};

/// A column to have. An item has a cell in it if it has all three attributes and its partition
/// begins with the prefix.
///
/// The ordinals of one partition are the user's business: if two items have the same, the cell is
/// that of the one written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: IndexName,
    /// The attribute whose value ordinals belong to: bytes.
    pub partition: Name,
    /// What the partitions of this column begin with.
    pub prefix: Vec<u8>,
    /// The attribute that is the ordinal: a whole number.
    pub ordinal: Name,
    /// The attribute that is kept: bytes.
    pub value: Name,
}

/// The first bytes of a value, filled up with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnValue(pub(crate) [u8; ColumnValue::BYTES]);

impl ColumnValue {
    /// As many bytes of a value as are kept.
    pub const BYTES: usize = 24;
    /// No value is less.
    pub const MIN: ColumnValue = ColumnValue([0; ColumnValue::BYTES]);
    /// No value is greater.
    pub const MAX: ColumnValue = ColumnValue([0xFF; ColumnValue::BYTES]);

    /// What is kept of a value.
    pub fn of(bytes: &[u8]) -> ColumnValue {
        let mut kept = [0; ColumnValue::BYTES];
        let len = bytes.len().min(ColumnValue::BYTES);
        kept[..len].copy_from_slice(&bytes[..len]);
        ColumnValue(kept)
    }

    /// Its bytes without the zeros at their end: every value that it is kept of begins with these.
    pub fn significant(&self) -> &[u8] {
        let len = self.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &self.0[..len]
    }

    /// The least that is greater.
    pub fn next(self) -> Option<ColumnValue> {
        self.stepped(0xFF, |byte| byte.wrapping_add(1))
    }

    /// The greatest that is less.
    pub fn previous(self) -> Option<ColumnValue> {
        self.stepped(0, |byte| byte.wrapping_sub(1))
    }

    /// Counts on by one, like the wheels of a counter: one that is at its end takes the next along.
    fn stepped(mut self, end: u8, step: impl Fn(u8) -> u8) -> Option<ColumnValue> {
        for byte in self.0.iter_mut().rev() {
            let is_end = *byte == end;
            *byte = step(*byte);
            if !is_end {
                return Some(self);
            }
        }
        None
    }
}

/// Finds the first of some ordinals in the order of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadColumn {
    /// The table.
    pub table: TableName,
    /// The column.
    pub column: IndexName,
    /// The partition that the ordinals belong to.
    pub partition: Vec<u8>,
    /// The ordinals.
    pub among: Members,
    /// The least value that counts.
    pub least: ColumnValue,
    /// The greatest value that counts.
    pub greatest: ColumnValue,
    /// From the least on, or from the greatest.
    pub direction: Direction,
    /// How many: not none.
    pub count: u32,
}

impl ReadColumn {
    /// As many cells as are returned beyond `count` because they have the same value as the last.
    pub const TIES_MAX: usize = 1000;
}

/// The value of an ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Its value.
    pub value: ColumnValue,
    /// The ordinal.
    pub ordinal: u64,
}

/// The first cells of some ordinals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnPart {
    /// The first ones, and all others that have the same value as the last of them; by value, then
    /// ordinal, in the direction. None that counts comes before one that is missing here.
    pub cells: Vec<Cell>,
    /// More cells have the value of the last than are returned: their order is not known.
    pub is_tied: bool,
    /// Bytes that were read for it.
    pub bytes: u64,
}

/// The partition and the cell of an item, if it has one in a column.
pub(crate) fn cell_of<'i>(spec: &ColumnSpec, item: &'i Item) -> Option<(&'i [u8], Cell)> {
    let bytes = |name: &Name| item.get(name.as_str()).and_then(Value::as_b);
    let partition = bytes(&spec.partition).filter(|there| there.starts_with(&spec.prefix))?;
    let ordinal = item.get(spec.ordinal.as_str())?.as_n().and_then(Number::to_i64)?;
    let (value, ordinal) = (ColumnValue::of(bytes(&spec.value)?), u64::try_from(ordinal).ok()?);
    Some((partition, Cell { value, ordinal }))
}
