//! Rules for the start keys of queries and scans.

use keyloom_value::{Item, KeyCondition, KeyTest};

use super::item::{key_parts, key_value};
use crate::{IndexSpec, Invalid, KeySchema, TableSpec};

/// Checks that the key has the shape of a last key of the table or index: exactly the attributes of
/// both keys, with valid values. The item itself may be deleted.
pub(super) fn shape(
    spec: &TableSpec,
    index: Option<&IndexSpec>,
    start: &Item,
) -> Result<(), Invalid> {
    let index_key = index.map(|index| &index.key);
    let schemas = || std::iter::once(&spec.key).chain(index_key);
    for (attribute, bytes_max) in schemas().flat_map(key_parts) {
        let Some(value) = start.get(attribute.name.as_str()) else {
            return refuse("it lacks an attribute of the key");
        };
        if key_value(attribute, bytes_max, value).is_err() {
            return refuse("an attribute of the key has an invalid value");
        }
    }
    if start.names().any(|name| !schemas().any(|schema| schema.has(name))) {
        return refuse("it has an attribute that is not part of the key");
    }
    Ok(())
}

/// Checks that the query could have returned the key as its last one.
pub(super) fn in_range(
    schema: &KeySchema,
    condition: &KeyCondition,
    start: &Item,
) -> Result<(), Invalid> {
    let in_partition = condition.tests.iter().all(|(name, test)| match test {
        KeyTest::Equal(value) if schema.partition.iter().any(|part| part.name == *name) => {
            start.get(name.as_str()) == Some(value)
        }
        _ => true,
    });
    if !in_partition {
        return refuse("it belongs to another partition than the query");
    }
    if !condition.matches(start) {
        return refuse("it is outside the range of the query");
    }
    Ok(())
}

fn refuse(why: &'static str) -> Result<(), Invalid> {
    Err(Invalid::StartKey { why })
}
