//! Columns: one attribute of every item of a table by the item's ordinal, so that some ordinals can
//! be put into the order of that attribute without reading their items.
//!
//! A column follows from the items, as an index does. It keeps the first bytes alone: what is equal
//! in all of them is left to the reader to tell apart by the items.

use keyloom_value::{Item, KeyBytes, Name, Number, Value};

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
    /// The attribute that is kept: bytes that are key parts.
    pub value: Name,
    /// The parts of it that are kept, the first ones, by the direction that each is encoded in.
    pub parts: Vec<Direction>,
}

/// The first bytes of the parts of a value that are kept, filled up with zeros.
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

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its bytes without the zeros at their end.
    pub(crate) fn significant(&self) -> &[u8] {
        let len = self.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &self.0[..len]
    }

    /// Whether there may be more of the value than is kept.
    pub fn is_full(&self) -> bool {
        self.significant().len() == ColumnValue::BYTES
    }

    /// The least that is greater.
    fn next(self) -> Option<ColumnValue> {
        self.stepped(0xFF, |byte| byte.wrapping_add(1))
    }

    /// The greatest that is less.
    fn previous(self) -> Option<ColumnValue> {
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
    /// The least cell that counts.
    pub least: Cell,
    /// The greatest cell that counts.
    pub greatest: Cell,
    /// From the least on, or from the greatest.
    pub direction: Direction,
    /// How many: not none.
    pub count: u32,
}

impl ReadColumn {
    /// As many cells as are returned beyond `count` because they have the same full value as the
    /// last.
    pub const TIES_MAX: usize = 1000;
}

/// The value of an ordinal. Cells are ordered by value, then ordinal.
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
    /// The first ones, in the direction; and all others that have the same value as the last, if it
    /// is full: what is not kept may order them otherwise.
    pub cells: Vec<Cell>,
    /// More cells have the full value of the last than are returned.
    pub is_tied: bool,
    /// Bytes that were read for it.
    pub bytes: u64,
}

impl Cell {
    /// No cell is less.
    pub const MIN: Cell = Cell { value: ColumnValue::MIN, ordinal: 0 };
    /// No cell is greater.
    pub const MAX: Cell = Cell { value: ColumnValue::MAX, ordinal: u64::MAX };

    /// The last cell, in a direction, that may come together with this one: what has the same full
    /// value is not told apart.
    pub fn bound(self, direction: Direction) -> Cell {
        match (self.value.is_full(), direction) {
            (false, _) => self,
            (true, Direction::Forward) => Cell { ordinal: u64::MAX, ..self },
            (true, Direction::Backward) => Cell { ordinal: 0, ..self },
        }
    }

    /// The cell right behind, in a direction.
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

/// The partition and the cell of an item, if it has one in a column.
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
