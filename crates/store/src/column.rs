//! Columns: one attribute of every item of a table by the item's ordinal, so that ordinals can be
//! sorted by that attribute without reading their items.
//!
//! A column derives from the items, as an index does. It stores only the first bytes of a value:
//! the reader has to compare the items of cells that are equal in all of them.

use keyloom_value::{Item, KeyBytes, Name, Number, Value};

use crate::{Direction, IndexName, Members, TableName};

/// The definition of a column. An item has a cell in it if it has all three attributes and its
/// partition begins with the prefix.
///
/// Ordinals should be unique within a partition: if two items share one, the cell is that of the
/// item written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: IndexName,
    /// The attribute whose value partitions the ordinals: bytes.
    pub partition: Name,
    /// The prefix of this column's partitions.
    pub prefix: Vec<u8>,
    /// The attribute that holds the ordinal: a whole number.
    pub ordinal: Name,
    /// The attribute that is stored: bytes that consist of key parts.
    pub value: Name,
    /// The leading key parts to store, by the direction that each is encoded in.
    pub parts: Vec<Direction>,
}

/// The first bytes of a value's stored parts, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnValue(pub(crate) [u8; ColumnValue::BYTES]);

impl ColumnValue {
    /// Number of bytes stored of a value.
    pub const BYTES: usize = 24;
    /// The least value.
    pub const MIN: ColumnValue = ColumnValue([0; ColumnValue::BYTES]);
    /// The greatest value.
    pub const MAX: ColumnValue = ColumnValue([0xFF; ColumnValue::BYTES]);

    /// Returns what is stored of a value.
    pub fn of(bytes: &[u8]) -> ColumnValue {
        let mut kept = [0; ColumnValue::BYTES];
        let len = bytes.len().min(ColumnValue::BYTES);
        kept[..len].copy_from_slice(&bytes[..len]);
        ColumnValue(kept)
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns its bytes without trailing zeros.
    pub(crate) fn significant(&self) -> &[u8] {
        let len = self.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &self.0[..len]
    }

    /// Whether the value may be longer than what is stored.
    pub fn is_full(&self) -> bool {
        self.significant().len() == ColumnValue::BYTES
    }

    /// Returns the next greater value.
    fn next(self) -> Option<ColumnValue> {
        self.stepped(0xFF, |byte| byte.wrapping_add(1))
    }

    /// Returns the next smaller value.
    fn previous(self) -> Option<ColumnValue> {
        self.stepped(0, |byte| byte.wrapping_sub(1))
    }

    /// Increments or decrements the bytes as one number, with carry; `end` is the byte that
    /// carries.
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

/// Finds the first of a set of ordinals in the order of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadColumn {
    /// The table.
    pub table: TableName,
    /// The column.
    pub column: IndexName,
    /// The partition of the ordinals.
    pub partition: Vec<u8>,
    /// The ordinals.
    pub among: Members,
    /// The lower bound, inclusive.
    pub least: Cell,
    /// The upper bound, inclusive.
    pub greatest: Cell,
    /// From the least cell on, or from the greatest.
    pub direction: Direction,
    /// Number of cells to return; at least one.
    pub count: u32,
}

impl ReadColumn {
    /// Maximum number of cells returned beyond `count` because they tie with the last full value.
    pub const TIES_MAX: usize = 1000;
}

/// The value of an ordinal. Cells are ordered by value, then by ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Its value.
    pub value: ColumnValue,
    /// The ordinal.
    pub ordinal: u64,
}

/// The first cells of a set of ordinals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnPart {
    /// The first cells, in the direction; and all others with the same value as the last, if it is
    /// full: the bytes that are not stored may order them differently.
    pub cells: Vec<Cell>,
    /// Whether more cells tie with the last full value than are returned.
    pub is_tied: bool,
    /// Bytes read.
    pub bytes: u64,
}

impl Cell {
    /// The least cell.
    pub const MIN: Cell = Cell { value: ColumnValue::MIN, ordinal: 0 };
    /// The greatest cell.
    pub const MAX: Cell = Cell { value: ColumnValue::MAX, ordinal: u64::MAX };

    /// Returns the last cell, in a direction, that ties with this one: cells with the same full
    /// value cannot be distinguished.
    pub fn bound(self, direction: Direction) -> Cell {
        match (self.value.is_full(), direction) {
            (false, _) => self,
            (true, Direction::Forward) => Cell { ordinal: u64::MAX, ..self },
            (true, Direction::Backward) => Cell { ordinal: 0, ..self },
        }
    }

    /// Returns the next cell in a direction.
    pub fn beyond(self, direction: Direction) -> Option<Cell> {
        let (ordinal, value, start) = match direction {
            Direction::Forward => (self.ordinal.checked_add(1), self.value.next(), 0),
            Direction::Backward => (self.ordinal.checked_sub(1), self.value.previous(), u64::MAX),
        };
        match ordinal {
            Some(ordinal) => Some(Cell { ordinal, ..self }),
            None => value.map(|value| Cell { value, ordinal: start }),
        }
    }
}

/// Returns the partition and the cell of an item, if it has one in a column.
pub(crate) fn cell_of<'i>(spec: &ColumnSpec, item: &'i Item) -> Option<(&'i [u8], Cell)> {
    let bytes = |name: &Name| item.get(name.as_str()).and_then(Value::as_b);
    let partition = bytes(&spec.partition).filter(|there| there.starts_with(&spec.prefix))?;
    let ordinal = item.get(spec.ordinal.as_str())?.as_n().and_then(Number::to_i64)?;
    let value = bytes(&spec.value)?;
    let rest = spec.parts.iter().try_fold(value, |rest, direction| match direction {
        Direction::Forward => KeyBytes::skip_part(rest),
        Direction::Backward => KeyBytes::skip_descending(rest),
    });
    let value = ColumnValue::of(&value[..value.len() - rest.ok()?.len()]);
    Some((partition, Cell { value, ordinal: u64::try_from(ordinal).ok()? }))
}
