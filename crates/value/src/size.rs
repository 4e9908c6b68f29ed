//! Sizes, as DynamoDB counts them.
//!
//! | value | bytes |
//! |---|---|
//! | S, B | its bytes, a string in UTF-8 |
//! | N | 1, and 1 for every two significant digits, and 1 if it is negative |
//! | BOOL, NULL | 1 |
//! | L, M | 3, and 1 for every element, and the elements; a map also its names |
//! | SS, NS, BS | its members |
//!
//! Amazon calls the size of a number approximate; this is its published formula.

use crate::number::Sign;
use crate::{Item, Number, Value};

impl Item {
    /// Returns the size in bytes, as DynamoDB counts it: the names in UTF-8 and the values.
    ///
    /// Limits and capacity depend on it; the size in memory or on disk differs. O(n).
    pub fn size(&self) -> usize {
        self.iter().map(|(name, value)| name.as_str().len() + value.size()).sum()
    }
}

impl Value {
    /// Returns the size in bytes, as DynamoDB counts it. O(n), and safe at any depth of nesting.
    pub fn size(&self) -> usize {
        let mut pending = Vec::new();
        let mut total = shallow_size(self, &mut pending);
        while let Some(value) = pending.pop() {
            total += shallow_size(value, &mut pending);
        }
        total
    }
}

/// Returns the size without the elements of a list or map, which are added to `pending`.
fn shallow_size<'a>(value: &'a Value, pending: &mut Vec<&'a Value>) -> usize {
    match value {
        Value::S(text) => text.len(),
        Value::N(number) => number_size(number),
        Value::B(bytes) => bytes.len(),
        Value::Bool(_) | Value::Null => 1,
        Value::L(elements) => {
            pending.extend(elements);
            3 + elements.len()
        }
        Value::M(members) => {
            pending.extend(members.iter().map(|(_, value)| value));
            let names: usize = members.names().map(|name| name.as_str().len()).sum();
            3 + members.len() + names
        }
        Value::Ss(texts) => texts.iter().map(String::len).sum(),
        Value::Ns(numbers) => numbers.iter().map(number_size).sum(),
        Value::Bs(byte_strings) => byte_strings.iter().map(Vec::len).sum(),
    }
}

fn number_size(number: &Number) -> usize {
    let sign = match number.sign() {
        Sign::Negative => 1,
        Sign::Positive => 0,
    };
    1 + number.digits().div_ceil(2) as usize + sign
}
