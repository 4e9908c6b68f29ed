//! Rust types of fields ↔ values in stored form.

use std::collections::BTreeMap;

use keyloom::{Item, Number, Value};

use crate::{Id, Reference, Time};

/// A type whose values can be written to a field.
pub trait IntoValue {
    /// The value in stored form.
    fn into_value(self) -> Value;
}

/// A type whose values can be read from a field.
pub trait FromValue: Sized {
    /// What the type expects, for errors: `a text`.
    const EXPECTED: &'static str;

    /// Reads a value in stored form; none if it is of another type.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! convert_into {
    ($($type:ty),*) => {
        $(impl IntoValue for $type {
            fn into_value(self) -> Value {
                self.into()
            }
        })*
    };
}

convert_into!(&str, String, i64, Number, bool, Vec<u8>, Time);

impl IntoValue for Value {
    fn into_value(self) -> Value {
        self
    }
}

impl<E> IntoValue for Id<E> {
    fn into_value(self) -> Value {
        self.into()
    }
}

impl<E> IntoValue for &Id<E> {
    fn into_value(self) -> Value {
        self.into()
    }
}

impl<E> IntoValue for Reference<E> {
    fn into_value(self) -> Value {
        match self {
            Reference::Id(id) => id.into(),
            Reference::Named(name) => Value::M(Item::from([("$ref", name)])),
        }
    }
}

// `u8` is no type of a field, so that this is another type than `Vec<u8>`.
impl<T: IntoValue> IntoValue for Vec<T> {
    fn into_value(self) -> Value {
        Value::L(self.into_iter().map(T::into_value).collect())
    }
}

impl<T: IntoValue> IntoValue for BTreeMap<String, T> {
    fn into_value(self) -> Value {
        Value::M(self.into_iter().map(|(name, value)| (name.into(), value.into_value())).collect())
    }
}

impl FromValue for String {
    const EXPECTED: &'static str = "a text";

    fn from_value(value: &Value) -> Option<String> {
        value.as_s().map(str::to_owned)
    }
}

impl FromValue for i64 {
    const EXPECTED: &'static str = "a whole number of 64 bits";

    fn from_value(value: &Value) -> Option<i64> {
        value.as_n()?.to_i64()
    }
}

impl FromValue for Number {
    const EXPECTED: &'static str = "a number";

    fn from_value(value: &Value) -> Option<Number> {
        value.as_n().copied()
    }
}

impl FromValue for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_value(value: &Value) -> Option<bool> {
        match value {
            Value::Bool(is_true) => Some(*is_true),
            _ => None,
        }
    }
}

impl FromValue for Time {
    const EXPECTED: &'static str = "a time";

    fn from_value(value: &Value) -> Option<Time> {
        i64::from_value(value).map(Time::from_ms)
    }
}

impl FromValue for Vec<u8> {
    const EXPECTED: &'static str = "bytes";

    fn from_value(value: &Value) -> Option<Vec<u8>> {
        value.as_b().map(<[u8]>::to_vec)
    }
}

impl FromValue for Value {
    const EXPECTED: &'static str = "any value";

    fn from_value(value: &Value) -> Option<Value> {
        Some(value.clone())
    }
}

impl<E> FromValue for Id<E> {
    const EXPECTED: &'static str = "an id";

    fn from_value(value: &Value) -> Option<Id<E>> {
        value.as_s().map(Id::new)
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn from_value(value: &Value) -> Option<Vec<T>> {
        match value {
            Value::L(elements) => elements.iter().map(T::from_value).collect(),
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for BTreeMap<String, T> {
    const EXPECTED: &'static str = "a map";

    fn from_value(value: &Value) -> Option<BTreeMap<String, T>> {
        let Value::M(members) = value else { return None };
        let member = |(name, value): (&_, &Value)| Some((name_of(name), T::from_value(value)?));
        members.iter().map(member).collect()
    }
}

fn name_of(name: &impl ToString) -> String {
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: IntoValue + FromValue + Clone + PartialEq + std::fmt::Debug>(value: T) {
        assert_eq!(T::from_value(&value.clone().into_value()), Some(value));
    }

    #[test]
    fn every_type_reads_what_it_writes() {
        check("text".to_owned());
        check(i64::MIN);
        check(Number::from(-7));
        check(true);
        check(Time::from_ms(-1));
        check(vec![0u8, 255]);
        check(Value::L(vec![Value::Null]));
        check(Id::<()>::new("7"));
        check(vec![vec![1i64], vec![]]);
        check(BTreeMap::from([("a".to_owned(), vec![b"bytes".to_vec()])]));
    }

    #[test]
    fn a_value_of_another_type_is_none() {
        let half: Number = "0.5".parse().expect("a number");
        assert_eq!(i64::from_value(&Value::N(half)), None);
        assert_eq!(String::from_value(&Value::Null), None);
        assert_eq!(Vec::<u8>::from_value(&Value::from("text")), None);
        assert_eq!(Vec::<i64>::from_value(&Value::L(vec![Value::from("1")])), None);
        assert_eq!(BTreeMap::<String, bool>::from_value(&Value::L(vec![])), None);
    }
}
