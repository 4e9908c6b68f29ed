//! Where an item is in the key space of a table or index.

use std::fmt;

use keyloom_store::{KeyAttribute, KeySchema};
use keyloom_value::{Item, KeyBytes, Value};
use twox_hash::XxHash3_64;

/// A place in a key space: items are spread by a hash of their partition key, and those that share
/// one are in the order of their sort key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) hash: u64,
    pub(super) sort: Vec<u8>,
}

impl Position {
    /// Returns the position of an item, or of its key.
    pub(super) fn of(schema: &KeySchema, item: &Item) -> Position {
        let bytes = |attributes: &[KeyAttribute]| {
            let mut key = KeyBytes::new();
            for attribute in attributes {
                let value = item.get(attribute.name.as_str()).unwrap_or(&Value::Null);
                // What cannot be a key never reaches a partition: the store refuses it.
                let _ = key.push(value);
            }
            key.into_vec()
        };
        let hash = XxHash3_64::oneshot(&bytes(&schema.partition));
        Position { hash, sort: bytes(&schema.sort) }
    }
}

/// Shows the first half of the hash, and the sort key if the position is inside the items of a partition key.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.hash >> 32)?;
        if !self.sort.is_empty() {
            f.write_str("/")?;
        }
        self.sort.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
