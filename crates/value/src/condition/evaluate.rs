//! Evaluates conditions, with DynamoDB's rules for absent values and mismatched types.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{Comparison, Condition, Operand};
use crate::{Item, Number, Value};

impl Condition {
    /// Returns whether it holds for the item. `None` is an item that does not exist: all its paths
    /// are absent.
    ///
    /// Evaluation never fails: comparing incomparable values is false, except that `<>` is true for
    /// all values that are not equal, including absent ones.
    pub fn holds(&self, item: Option<&Item>) -> bool {
        match self {
            Condition::Compare { left, comparison, right } => {
                comparison.holds(left.resolve(item).as_deref(), right.resolve(item).as_deref())
            }
            Condition::Between { operand, low, high } => {
                let value = operand.resolve(item);
                let (low, high) = (low.resolve(item), high.resolve(item));
                order(low.as_deref(), value.as_deref()).is_some_and(Ordering::is_le)
                    && order(value.as_deref(), high.as_deref()).is_some_and(Ordering::is_le)
            }
            Condition::In { operand, choices } => operand.resolve(item).is_some_and(|value| {
                choices.iter().any(|choice| choice.resolve(item).is_some_and(|it| it == value))
            }),
            Condition::Exists(path) => item.is_some_and(|item| path.get(item).is_some()),
            Condition::Missing(path) => item.is_none_or(|item| path.get(item).is_none()),
            Condition::HasType(path, value_type) => item
                .and_then(|item| path.get(item))
                .is_some_and(|value| value.value_type() == *value_type),
            Condition::BeginsWith(operand, prefix) => {
                both(operand, prefix, item, |value, prefix| value.begins_with(prefix))
            }
            Condition::Contains(operand, part) => both(operand, part, item, contains),
            Condition::And(conditions) => conditions.iter().all(|it| it.holds(item)),
            Condition::Or(conditions) => conditions.iter().any(|it| it.holds(item)),
            Condition::Not(condition) => !condition.holds(item),
        }
    }
}

impl Operand {
    fn resolve<'a>(&'a self, item: Option<&'a Item>) -> Option<Cow<'a, Value>> {
        match self {
            Operand::Path(path) => path.get(item?).map(Cow::Borrowed),
            Operand::Value(value) => Some(Cow::Borrowed(value)),
            Operand::Size(path) => {
                let size = size_operand(path.get(item?)?)?;
                Some(Cow::Owned(Value::N(Number::from(size as u64))))
            }
        }
    }
}

impl Comparison {
    fn holds(self, left: Option<&Value>, right: Option<&Value>) -> bool {
        let equal = matches!((left, right), (Some(left), Some(right)) if left == right);
        match self {
            Comparison::Equal => equal,
            Comparison::NotEqual => !equal,
            Comparison::Less => order(left, right).is_some_and(Ordering::is_lt),
            Comparison::LessOrEqual => order(left, right).is_some_and(Ordering::is_le),
            Comparison::Greater => order(left, right).is_some_and(Ordering::is_gt),
            Comparison::GreaterOrEqual => order(left, right).is_some_and(Ordering::is_ge),
        }
    }
}

fn order(left: Option<&Value>, right: Option<&Value>) -> Option<Ordering> {
    left?.compare(right?)
}

fn both(
    left: &Operand,
    right: &Operand,
    item: Option<&Item>,
    test: fn(&Value, &Value) -> bool,
) -> bool {
    match (left.resolve(item), right.resolve(item)) {
        (Some(left), Some(right)) => test(&left, &right),
        _ => false,
    }
}

/// Returns `size(path)` of a value; `None` if its type has no size.
///
/// DynamoDB's manual says "the length of the string". The service counts UTF-16 code units, so
/// "é𝄞" has size 3. Item sizes, in contrast, count UTF-8 bytes.
fn size_operand(value: &Value) -> Option<usize> {
    match value {
        Value::S(text) => Some(text.encode_utf16().count()),
        Value::B(bytes) => Some(bytes.len()),
        Value::L(elements) => Some(elements.len()),
        Value::M(members) => Some(members.len()),
        Value::Ss(texts) => Some(texts.len()),
        Value::Ns(numbers) => Some(numbers.len()),
        Value::Bs(byte_strings) => Some(byte_strings.len()),
        Value::N(_) | Value::Bool(_) | Value::Null => None,
    }
}

fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::S(text), Value::S(part)) => text.contains(part.as_str()),
        (Value::B(bytes), Value::B(part)) => contains_bytes(bytes, part),
        (Value::Ss(texts), Value::S(text)) => texts.contains(text),
        (Value::Ns(numbers), Value::N(number)) => numbers.contains(number),
        (Value::Bs(byte_strings), Value::B(bytes)) => byte_strings.contains(bytes),
        (Value::L(elements), element) => elements.contains(element),
        _ => false,
    }
}

/// Searches in O(haystack + needle) (Knuth-Morris-Pratt): both may be hostile, and a naive search
/// would take the product.
fn contains_bytes(haystack: &[u8], needle: &[u8]) -> bool {
    if needle.is_empty() {
        return true;
    }
    if needle.len() > haystack.len() {
        // Not even prepared: it may be long, and there may be many short haystacks.
        return false;
    }
    let borders = borders(needle);
    let mut matched = 0;
    for &byte in haystack {
        matched = advance(needle, &borders, matched, byte);
        if matched == needle.len() {
            return true;
        }
    }
    false
}

/// Returns, for every prefix of the needle, the length of its longest proper prefix that is also a
/// suffix.
fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders = Vec::with_capacity(needle.len());
    let mut matched = 0;
    for (index, &byte) in needle.iter().enumerate() {
        if index > 0 {
            matched = advance(needle, &borders, matched, byte);
        }
        borders.push(matched);
    }
    borders
}

/// Returns how much of the needle is matched after one more byte. `matched` is less than its
/// length.
fn advance(needle: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && needle[matched] != byte {
        matched = borders[matched - 1];
    }
    if needle[matched] == byte { matched + 1 } else { matched }
}
