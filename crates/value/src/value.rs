//! One attribute value of any of the ten types.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use crate::{Item, Number};

/// One attribute value.
///
/// `Eq` is DynamoDB's equality: numbers compare as numbers (`1` is `1.0`), sets ignore order.
///
/// Cloning, comparing, printing and dropping are recursive. Check [`Value::depth`] before using a
/// value of unknown origin: DynamoDB allows 31 lists and maps around a value, and a decoder should
/// reject more before building them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string.
    S(String),
    /// A decimal number.
    N(Number),
    /// Bytes.
    B(Vec<u8>),
    /// A Boolean.
    Bool(bool),
    /// The null value.
    Null,
    /// A list.
    L(Vec<Value>),
    /// A map.
    M(Item),
    /// A set of strings.
    Ss(BTreeSet<String>),
    /// A set of numbers.
    Ns(BTreeSet<Number>),
    /// A set of byte strings.
    Bs(BTreeSet<Vec<u8>>),
}

/// The type of a [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueType {
    /// String.
    S,
    /// Number.
    N,
    /// Bytes.
    B,
    /// Boolean.
    Bool,
    /// Null.
    Null,
    /// List.
    L,
    /// Map.
    M,
    /// Set of strings.
    Ss,
    /// Set of numbers.
    Ns,
    /// Set of byte strings.
    Bs,
}

impl Value {
    /// Returns the type.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::S(_) => ValueType::S,
            Value::N(_) => ValueType::N,
            Value::B(_) => ValueType::B,
            Value::Bool(_) => ValueType::Bool,
            Value::Null => ValueType::Null,
            Value::L(_) => ValueType::L,
            Value::M(_) => ValueType::M,
            Value::Ss(_) => ValueType::Ss,
            Value::Ns(_) => ValueType::Ns,
            Value::Bs(_) => ValueType::Bs,
        }
    }

    /// Returns how many lists and maps surround its innermost value, itself included: 0 for a
    /// scalar or a set, 1 for an empty list or a list of scalars, 2 for a list in a map.
    ///
    /// O(n), and safe at any depth of nesting.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut pending = vec![(self, 0)];
        while let Some((value, around)) = pending.pop() {
            match value {
                Value::L(elements) => {
                    pending.extend(elements.iter().map(|element| (element, around + 1)));
                    deepest = deepest.max(around + 1);
                }
                Value::M(members) => {
                    pending.extend(members.iter().map(|(_, member)| (member, around + 1)));
                    deepest = deepest.max(around + 1);
                }
                Value::S(_)
                | Value::N(_)
                | Value::B(_)
                | Value::Bool(_)
                | Value::Null
                | Value::Ss(_)
                | Value::Ns(_)
                | Value::Bs(_) => {}
            }
        }
        deepest
    }

    /// Compares two strings (by UTF-8 bytes), two numbers or two byte strings; `None` for all other
    /// pairs, which have no order.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::S(left), Value::S(right)) => Some(left.cmp(right)),
            (Value::N(left), Value::N(right)) => Some(left.cmp(right)),
            (Value::B(left), Value::B(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }

    /// Returns whether it is a string or bytes that begin with a prefix of the same type.
    pub(crate) fn begins_with(&self, prefix: &Value) -> bool {
        match (self, prefix) {
            (Value::S(text), Value::S(prefix)) => text.starts_with(prefix.as_str()),
            (Value::B(bytes), Value::B(prefix)) => bytes.starts_with(prefix),
            _ => false,
        }
    }

    /// Returns the string, if it is one.
    pub fn as_s(&self) -> Option<&str> {
        if let Value::S(text) = self { Some(text) } else { None }
    }

    /// Returns the number, if it is one.
    pub fn as_n(&self) -> Option<&Number> {
        if let Value::N(number) = self { Some(number) } else { None }
    }

    /// Returns the bytes, if it has that type.
    pub fn as_b(&self) -> Option<&[u8]> {
        if let Value::B(bytes) = self { Some(bytes) } else { None }
    }
}

impl ValueType {
    /// Returns DynamoDB's name of the type.
    pub fn as_str(self) -> &'static str {
        match self {
            ValueType::S => "S",
            ValueType::N => "N",
            ValueType::B => "B",
            ValueType::Bool => "BOOL",
            ValueType::Null => "NULL",
            ValueType::L => "L",
            ValueType::M => "M",
            ValueType::Ss => "SS",
            ValueType::Ns => "NS",
            ValueType::Bs => "BS",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::S(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::S(text)
    }
}

impl From<bool> for Value {
    fn from(boolean: bool) -> Value {
        Value::Bool(boolean)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::N(number)
    }
}

impl From<i32> for Value {
    fn from(integer: i32) -> Value {
        Value::N(Number::from(integer))
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Value {
        Value::N(Number::from(integer))
    }
}

impl From<u64> for Value {
    fn from(integer: u64) -> Value {
        Value::N(Number::from(integer))
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::B(bytes)
    }
}

impl From<Item> for Value {
    fn from(members: Item) -> Value {
        Value::M(members)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Value {
        Value::L(elements)
    }
}
