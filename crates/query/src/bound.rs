//! The bound at which a page begins or ends: between two positions of a list, in the order of its
//! keys. Cursors carry bounds, so their bytes never change.

use keyloom_store::Direction;
use keyloom_value::{KeyBytes, Value};

use crate::CursorError;

/// A bound between entities: right before or right after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageBound {
    pub(crate) position: Vec<u8>,
    pub(crate) side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// The page that a cursor leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toward {
    /// The page after the one that it came with.
    Next,
    /// The page before it.
    Previous,
}

impl Toward {
    /// The direction in which the page is read, given that of the list.
    pub(crate) fn direction(self, direction: Direction) -> Direction {
        match (self, direction) {
            (Toward::Next, direction) => direction,
            (Toward::Previous, Direction::Forward) => Direction::Backward,
            (Toward::Previous, Direction::Backward) => Direction::Forward,
        }
    }
}

impl PageBound {
    /// The bound right behind a position, in a direction.
    pub(crate) fn behind(position: Vec<u8>, direction: Direction) -> PageBound {
        let side = match direction {
            Direction::Forward => Side::After,
            Direction::Backward => Side::Before,
        };
        PageBound { position, side }
    }

    /// The bound right behind an ordinal, whichever entity has it.
    pub(crate) fn behind_ordinal(ordinal: u64, direction: Direction) -> PageBound {
        let next = match direction {
            Direction::Forward => ordinal.saturating_add(1),
            Direction::Backward => ordinal,
        };
        let mut position = KeyBytes::new();
        for part in [Value::from(next), Value::from("")] {
            let pushed = position.push(&part);
            debug_assert!(pushed.is_ok(), "numbers and texts can be parts of a key");
        }
        // No id is empty: this is before every entity that has the ordinal.
        PageBound { position: position.into_vec(), side: Side::Before }
    }

    /// The first ordinal beyond the bound, in a list in order of creation; none if there is none.
    pub(crate) fn ordinal_beyond(&self, direction: Direction) -> Option<u64> {
        let (ordinal, _) = KeyBytes::decode_part(&self.position).ok()?;
        let ordinal = ordinal.as_n()?.to_i64()?;
        let beyond = match (direction, self.side) {
            (Direction::Forward, Side::Before) | (Direction::Backward, Side::After) => ordinal,
            (Direction::Forward, Side::After) => ordinal.checked_add(1)?,
            (Direction::Backward, Side::Before) => ordinal.checked_sub(1)?,
        };
        u64::try_from(beyond).ok()
    }

    /// The bytes of a cursor: the page it leads to, and the bound.
    pub(crate) fn to_bytes(&self, toward: Toward) -> Vec<u8> {
        let toward = match toward {
            Toward::Next => 0,
            Toward::Previous => 2,
        };
        let side = match self.side {
            Side::Before => 0,
            Side::After => 1,
        };
        [&[toward + side], &self.position[..]].concat()
    }

    /// Decodes [`PageBound::to_bytes`]. Never refuses authentic bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<(Toward, PageBound), CursorError> {
        let (toward, side, position) = match bytes {
            [0, position @ ..] => (Toward::Next, Side::Before, position),
            [1, position @ ..] => (Toward::Next, Side::After, position),
            [2, position @ ..] => (Toward::Previous, Side::Before, position),
            [3, position @ ..] => (Toward::Previous, Side::After, position),
            _ => return Err(CursorError::NotACursor),
        };
        Ok((toward, PageBound { position: position.to_vec(), side }))
    }
}
