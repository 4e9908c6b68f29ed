//! The range of a table or index that a key condition selects.

use std::cmp::Ordering;

use keyloom_value::{KeyCondition, KeyTest, Value};

use super::item::key_value;
use crate::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::{Invalid, KeyAttribute, KeySchema};

/// One contiguous range of rows in key order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    /// The value of each partition attribute, in the schema's order.
    pub(crate) partition: Vec<Value>,
    /// The values of the first sort attributes, in the schema's order.
    pub(crate) equal: Vec<Value>,
    /// A test other than equality on the sort attribute that follows those.
    pub(crate) test: Option<KeyTest>,
}

/// Returns the range that the condition selects, if it is one: every partition attribute by
/// equality, then sort attributes from left to right, all by equality except for the last one
/// named.
pub(crate) fn key_range(schema: &KeySchema, condition: &KeyCondition) -> Result<KeyRange, Invalid> {
    only_keys_once(schema, condition)?;
    let partition = partition_values(schema, condition)?;
    let mut equal = Vec::new();
    let mut test = None;
    let mut closed = None;
    for attribute in &schema.sort {
        let Some(next) = test_of(condition, attribute) else {
            closed = closed.or(Some("a sort attribute before it is not tested"));
            continue;
        };
        if let Some(why) = closed {
            return refuse(attribute, why);
        }
        test_values(attribute, SORT_KEY_BYTES_MAX, next)?;
        match next {
            KeyTest::Equal(value) => equal.push(value.clone()),
            KeyTest::Less(_)
            | KeyTest::LessOrEqual(_)
            | KeyTest::Greater(_)
            | KeyTest::GreaterOrEqual(_)
            | KeyTest::Between(..)
            | KeyTest::BeginsWith(_) => {
                test = Some(next.clone());
                closed = Some("a sort attribute before it is not tested by equality");
            }
        }
    }
    Ok(KeyRange { partition, equal, test })
}

fn only_keys_once(schema: &KeySchema, condition: &KeyCondition) -> Result<(), Invalid> {
    for (position, (name, _)) in condition.tests.iter().enumerate() {
        let refuse = |why| Err(Invalid::KeyCondition { attribute: name.clone(), why });
        if !schema.has(name) {
            return refuse("it is not part of the key");
        }
        if condition.tests[..position].iter().any(|(other, _)| other == name) {
            return refuse("it is tested twice");
        }
    }
    Ok(())
}

fn partition_values(schema: &KeySchema, condition: &KeyCondition) -> Result<Vec<Value>, Invalid> {
    let mut values = Vec::new();
    for attribute in &schema.partition {
        match test_of(condition, attribute) {
            Some(KeyTest::Equal(value)) => {
                key_value(attribute, PARTITION_KEY_BYTES_MAX, value)?;
                values.push(value.clone());
            }
            Some(
                KeyTest::Less(_)
                | KeyTest::LessOrEqual(_)
                | KeyTest::Greater(_)
                | KeyTest::GreaterOrEqual(_)
                | KeyTest::Between(..)
                | KeyTest::BeginsWith(_),
            ) => return refuse(attribute, "a partition attribute must be tested by equality"),
            None => return refuse(attribute, "a query must test every partition attribute"),
        }
    }
    Ok(values)
}

fn test_of<'a>(condition: &'a KeyCondition, attribute: &KeyAttribute) -> Option<&'a KeyTest> {
    condition.tests.iter().find(|(name, _)| *name == attribute.name).map(|(_, test)| test)
}

/// Checks that the values of a test are valid for the attribute, and that the test applies to its
/// type.
fn test_values(attribute: &KeyAttribute, bytes_max: usize, test: &KeyTest) -> Result<(), Invalid> {
    match test {
        KeyTest::Equal(value)
        | KeyTest::Less(value)
        | KeyTest::LessOrEqual(value)
        | KeyTest::Greater(value)
        | KeyTest::GreaterOrEqual(value) => key_value(attribute, bytes_max, value),
        KeyTest::Between(low, high) => {
            key_value(attribute, bytes_max, low)?;
            key_value(attribute, bytes_max, high)?;
            match low.compare(high) {
                Some(Ordering::Less | Ordering::Equal) => Ok(()),
                Some(Ordering::Greater) | None => {
                    refuse(attribute, "the lower bound is above the upper bound")
                }
            }
        }
        KeyTest::BeginsWith(prefix) => match prefix {
            Value::N(_) => refuse(attribute, "a number has no prefix"),
            _ => key_value(attribute, bytes_max, prefix),
        },
    }
}

fn refuse<T>(attribute: &KeyAttribute, why: &'static str) -> Result<T, Invalid> {
    Err(Invalid::KeyCondition { attribute: attribute.name.clone(), why })
}
