//! Key conditions as row ranges.

use keyloom_value::{KeyBytes, KeyBytesError, KeyTest, Value};

use crate::validate::KeyRange;

use super::format::SpaceId;
use super::tree::RowRange;

/// Returns the rows of a space that satisfy a validated key condition.
pub(crate) fn row_range(space: SpaceId, range: &KeyRange) -> Result<RowRange, KeyBytesError> {
    let mut equal = KeyBytes::new();
    for value in range.partition.iter().chain(&range.equal) {
        equal.push(value)?;
    }
    let whole = space.row(equal.as_bytes());
    let end = after(&whole);
    let at = |value: &Value| {
        let mut key = equal.clone();
        key.push(value)?;
        Ok(space.row(key.as_bytes()))
    };
    Ok(match &range.test {
        None => (whole, end),
        Some(KeyTest::Equal(value)) => {
            let start = at(value)?;
            let end = after(&start);
            (start, end)
        }
        Some(KeyTest::Less(value)) => (whole, at(value)?),
        Some(KeyTest::LessOrEqual(value)) => (whole, after(&at(value)?)),
        Some(KeyTest::Greater(value)) => (after(&at(value)?), end),
        Some(KeyTest::GreaterOrEqual(value)) => (at(value)?, end),
        Some(KeyTest::Between(low, high)) => (at(low)?, after(&at(high)?)),
        Some(KeyTest::BeginsWith(prefix)) => {
            let mut key = equal.clone();
            key.push_prefix(prefix)?;
            let start = space.row(key.as_bytes());
            let end = after(&start);
            (start, end)
        }
    })
}

/// Returns the first row after every row with this prefix.
fn after(row: &[u8]) -> Vec<u8> {
    // A row begins with its space id; only an id that is never allocated has no successor.
    KeyBytes::after_prefix(row).unwrap_or_else(|| row.to_vec())
}
