//! The position of a verification as a text: the last row, or the position in sets or counters, and
//! the number of rows before.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_store::SetName;
use keyloom_value::{Item, Value};

/// The position of a verification.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Position {
    pub(crate) at: At,
    /// The number of rows that were verified.
    pub(crate) rows: u64,
}

/// What to verify next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum At {
    /// The rows after the one with this key, or all.
    Rows(Option<Item>),
    /// Sets, after the rows.
    Sets(SetPlace),
    /// Counters, after the sets, from this hash on.
    Counters(u64),
}

/// A position in the sets of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetPlace {
    /// Before all.
    Start,
    /// In a set, from this ordinal on.
    In(SetName, u64),
    /// After a set.
    After(SetName),
}

impl Default for Position {
    fn default() -> Position {
        Position { at: At::Rows(None), rows: 0 }
    }
}

impl Position {
    pub(crate) fn is_in_counters(&self) -> bool {
        matches!(self.at, At::Counters(_))
    }

    pub(crate) fn write(&self) -> String {
        let rows = self.rows;
        match &self.at {
            At::Rows(key) => {
                let part = |name| key.as_ref().and_then(|key| key.get(name)?.as_b());
                let hex = |name| hex(part(name).unwrap_or_default());
                format!("{rows}.{}.{}", hex(PARTITION), hex(SORT))
            }
            At::Sets(SetPlace::Start) => format!("{rows}.sets"),
            At::Sets(SetPlace::In(set, from)) => {
                format!("{rows}.sets.{}.{from}", hex(set.as_bytes()))
            }
            At::Counters(from) => format!("{rows}.numbers.{from}"),
            At::Sets(SetPlace::After(set)) => format!("{rows}.sets.{}", hex(set.as_bytes())),
        }
    }

    pub(crate) fn read(text: &str) -> Option<Position> {
        let parts: Vec<&str> = text.split('.').collect();
        let set = |text: &str| SetName::new(bytes(text)?).ok();
        let at = match parts[1..] {
            ["sets"] => At::Sets(SetPlace::Start),
            ["sets", name] => At::Sets(SetPlace::After(set(name)?)),
            ["sets", name, from] => At::Sets(SetPlace::In(set(name)?, from.parse().ok()?)),
            ["numbers", from] => At::Counters(from.parse().ok()?),
            [partition, sort] => {
                let (partition, sort) = (Value::B(bytes(partition)?), Value::B(bytes(sort)?));
                At::Rows(Some(Item::from([(PARTITION, partition), (SORT, sort)])))
            }
            _ => return None,
        };
        Some(Position { at, rows: parts[0].parse().ok()? })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0 && !digits.is_empty())?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
