//! Key conditions: the part of a table or index that a query reads.

use std::cmp::Ordering;

use crate::{Comparison, Item, Name, Value};

/// Tests on key attributes. Only the table knows which attributes are keys, and in what order; it
/// rejects conditions that are not one contiguous range of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCondition {
    /// The tests, at most one per attribute.
    pub tests: Vec<(Name, KeyTest)>,
}

/// A test on one key attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyTest {
    /// Equal to the value.
    Equal(Value),
    /// Less than the value.
    Less(Value),
    /// Less than or equal to the value.
    LessOrEqual(Value),
    /// Greater than the value.
    Greater(Value),
    /// Greater than or equal to the value.
    GreaterOrEqual(Value),
    /// From the first to the second, both included.
    Between(Value, Value),
    /// A string or bytes that begin with the value.
    BeginsWith(Value),
}

impl KeyCondition {
    /// The attribute equals the value.
    pub fn equal(name: impl Into<Name>, value: impl Into<Value>) -> KeyCondition {
        KeyCondition { tests: vec![(name.into(), KeyTest::Equal(value.into()))] }
    }

    /// Also tests another attribute.
    #[must_use]
    pub fn and(mut self, name: impl Into<Name>, test: KeyTest) -> KeyCondition {
        self.tests.push((name.into(), test));
        self
    }

    /// Returns whether the item passes every test. A missing attribute passes none.
    pub fn matches(&self, item: &Item) -> bool {
        self.tests
            .iter()
            .all(|(name, test)| item.get(name.as_str()).is_some_and(|value| test.matches(value)))
    }
}

impl KeyTest {
    /// Compares with a value; `None` for `<>`, which is no range.
    pub fn compare(comparison: Comparison, value: Value) -> Option<KeyTest> {
        Some(match comparison {
            Comparison::Equal => KeyTest::Equal(value),
            Comparison::Less => KeyTest::Less(value),
            Comparison::LessOrEqual => KeyTest::LessOrEqual(value),
            Comparison::Greater => KeyTest::Greater(value),
            Comparison::GreaterOrEqual => KeyTest::GreaterOrEqual(value),
            Comparison::NotEqual => return None,
        })
    }

    /// Returns whether the value passes. A value of a different type never does.
    pub fn matches(&self, value: &Value) -> bool {
        let is = |bound: &Value, accepts: fn(Ordering) -> bool| {
            value.compare(bound).is_some_and(accepts)
        };
        match self {
            KeyTest::Equal(bound) => is(bound, Ordering::is_eq),
            KeyTest::Less(bound) => is(bound, Ordering::is_lt),
            KeyTest::LessOrEqual(bound) => is(bound, Ordering::is_le),
            KeyTest::Greater(bound) => is(bound, Ordering::is_gt),
            KeyTest::GreaterOrEqual(bound) => is(bound, Ordering::is_ge),
            KeyTest::Between(low, high) => is(low, Ordering::is_ge) && is(high, Ordering::is_le),
            KeyTest::BeginsWith(prefix) => value.begins_with(prefix),
        }
    }
}
