//! Where a page begins or ends: between two places of a list, in the order of its keys.

use keyloom_store::Direction;
use keyloom_value::{KeyBytes, Value};

use crate::CursorError;

/// A place between entities: right before or right after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) position: Vec<u8>,
    pub(crate) side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// Where a page goes on from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The page after it.
    On,
    /// The page before it.
    Back,
}

impl Turn {
    /// The direction in which such a page is read, of a list that is read in another.
    pub(crate) fn of(self, direction: Direction) -> Direction {
        match (self, direction) {
            (Turn::On, direction) => direction,
            (Turn::Back, Direction::Forward) => Direction::Backward,
            (Turn::Back, Direction::Backward) => Direction::Forward,
        }
    }
}

impl Cut {
    /// Behind a position, for who comes from the other side.
    pub(crate) fn behind(position: Vec<u8>, direction: Direction) -> Cut {
        let side = match direction {
            Direction::Forward => Side::After,
            Direction::Backward => Side::Before,
        };
        Cut { position, side }
    }

    /// Behind a number, whoever has it.
    pub(crate) fn behind_number(number: u64, direction: Direction) -> Cut {
        let next = match direction {
            Direction::Forward => number.saturating_add(1),
            Direction::Backward => number,
        };
        let mut position = KeyBytes::new();
        for part in [Value::from(next), Value::from("")] {
            let pushed = position.push(&part);
            debug_assert!(pushed.is_ok(), "numbers and texts can be parts of a key");
        }
        // No id is empty: it lies before all that have the number.
        Cut { position: position.into_vec(), side: Side::Before }
    }

    /// The first number beyond, in a list by number; none if there is none.
    pub(crate) fn number_beyond(&self, direction: Direction) -> Option<u64> {
        let (number, _) = KeyBytes::decode_part(&self.position).ok()?;
        let number = number.as_n()?.to_i64()?;
        let beyond = match (direction, self.side) {
            (Direction::Forward, Side::Before) | (Direction::Backward, Side::After) => number,
            (Direction::Forward, Side::After) => number.checked_add(1)?,
            (Direction::Backward, Side::Before) => number.checked_sub(1)?,
        };
        u64::try_from(beyond).ok()
    }

    /// What a cursor says: which way, and from where.
    pub(crate) fn to_bytes(&self, turn: Turn) -> Vec<u8> {
        let turn = match turn {
            Turn::On => 0,
            Turn::Back => 2,
        };
        let side = match self.side {
            Side::Before => 0,
            Side::After => 1,
        };
        [&[turn + side], &self.position[..]].concat()
    }

    /// The other way round. Bytes that are authentic are never refused.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<(Turn, Cut), CursorError> {
        let (turn, side, position) = match bytes {
            [0, position @ ..] => (Turn::On, Side::Before, position),
            [1, position @ ..] => (Turn::On, Side::After, position),
            [2, position @ ..] => (Turn::Back, Side::Before, position),
            [3, position @ ..] => (Turn::Back, Side::After, position),
            _ => return Err(CursorError::NotACursor),
        };
        Ok((turn, Cut { position: position.to_vec(), side }))
    }
}
