//! The segment of an item in a parallel scan.

use keyloom_value::{Item, KeyBytes};
use twox_hash::XxHash3_64;

use crate::{KeySchema, Segment};

impl Segment {
    /// Whether a parallel scan reads the item with these key attributes in this segment; `schema` is
    /// the key of the table or index that is scanned.
    pub fn holds(self, schema: &KeySchema, key: &Item) -> bool {
        segment_of(partition_bytes(schema, key).as_bytes(), self.of) == self.number
    }
}

/// Returns the segment, below `of`, of the partition with these encoded key values.
///
/// All items of a partition are in one segment, and the function never changes: a scan may continue
/// from a key that an older version returned.
pub(crate) fn segment_of(partition: &[u8], of: u32) -> u32 {
    let hash = XxHash3_64::oneshot_with_seed(0, partition);
    u32::try_from(hash % u64::from(of.max(1))).unwrap_or(u32::MAX)
}

/// Encodes the partition values of an item, in the schema's order.
pub(crate) fn partition_bytes(schema: &KeySchema, item: &Item) -> KeyBytes {
    let mut bytes = KeyBytes::default();
    for attribute in &schema.partition {
        if let Some(value) = item.get(attribute.name.as_str()) {
            let pushed = bytes.push(value);
            debug_assert!(pushed.is_ok(), "key values are checked before they are hashed");
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use keyloom_value::Value;

    use super::*;
    use crate::KeyType;

    /// Frozen: a start key that an older version returned must stay in its segment.
    #[test]
    fn the_segment_of_a_key_never_changes() {
        let schema = KeySchema::partition("pk", KeyType::S).and_partition("n", KeyType::N);
        let segment = |text: &str, number: i64, of: u32| {
            let item = Item::from([("pk", Value::from(text)), ("n", Value::from(number))]);
            segment_of(partition_bytes(&schema, &item).as_bytes(), of)
        };
        assert_eq!(segment("a", 1, 1), 0);
        assert_eq!(segment("a", 1, 1_000_000), 311_899);
        assert_eq!(segment("a\0", -1, 1_000_000), 557_386);
        assert_eq!(segment("☃", 0, 1_000_000), 436_986);
    }
}
