//! Converts values and items to the SDK's types and back.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::{Blob, DateTime};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::AttributeValue as StreamValue;
use keyloom_store::Time;
use keyloom_value::{Item, Number, NumberError, Value};

pub(super) type Attributes = HashMap<String, AttributeValue>;

/// Converts an item.
pub(super) fn attributes(item: Item) -> Attributes {
    item.into_iter().map(|(name, value)| (name.as_str().to_owned(), attribute(value))).collect()
}

/// Converts a value.
pub(super) fn attribute(value: Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text),
        Value::N(number) => AttributeValue::N(number.to_string()),
        Value::B(bytes) => AttributeValue::B(Blob::new(bytes)),
        Value::Bool(boolean) => AttributeValue::Bool(boolean),
        Value::Null => AttributeValue::Null(true),
        Value::L(elements) => AttributeValue::L(elements.into_iter().map(attribute).collect()),
        Value::M(members) => AttributeValue::M(attributes(members)),
        Value::Ss(texts) => AttributeValue::Ss(texts.into_iter().collect()),
        Value::Ns(numbers) => AttributeValue::Ns(numbers.iter().map(ToString::to_string).collect()),
        Value::Bs(set) => AttributeValue::Bs(set.into_iter().map(Blob::new).collect()),
    }
}

/// Why a value of a response cannot be read. The service sends no such values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    Number(NumberError),
    Type,
}

/// The SDK's two clients have separate, identical types for values.
macro_rules! read_values {
    ($item:ident, $value:ident, $type:ident) => {
        /// Converts an item of a response.
        pub(super) fn $item(attributes: HashMap<String, $type>) -> Result<Item, Unreadable> {
            let read = |(name, attribute): (String, $type)| Ok((name.into(), $value(attribute)?));
            attributes.into_iter().map(read).collect()
        }

        fn $value(attribute: $type) -> Result<Value, Unreadable> {
            Ok(match attribute {
                $type::S(text) => Value::S(text),
                $type::N(text) => Value::N(number(&text)?),
                $type::B(bytes) => Value::B(bytes.into_inner()),
                $type::Bool(boolean) => Value::Bool(boolean),
                $type::Null(_) => Value::Null,
                $type::L(elements) => {
                    Value::L(elements.into_iter().map($value).collect::<Result<_, _>>()?)
                }
                $type::M(members) => Value::M($item(members)?),
                $type::Ss(texts) => Value::Ss(texts.into_iter().collect()),
                $type::Ns(texts) => {
                    Value::Ns(texts.iter().map(|text| number(text)).collect::<Result<_, _>>()?)
                }
                $type::Bs(set) => Value::Bs(set.into_iter().map(Blob::into_inner).collect()),
                _ => return Err(Unreadable::Type),
            })
        }
    };
}

read_values!(item, value, AttributeValue);
read_values!(stream_item, stream_value, StreamValue);

fn number(text: &str) -> Result<Number, Unreadable> {
    text.parse().map_err(Unreadable::Number)
}

/// Converts a time of a response, in fractional seconds; times before 1970 count as 1970.
pub(super) fn time(sdk: Option<&DateTime>) -> Time {
    let secs = sdk.map(DateTime::as_secs_f64).unwrap_or_default();
    Time((secs * 1000.0).round() as u64)
}

/// Converts a count of a response.
pub(super) fn count(sdk: Option<i64>) -> u64 {
    sdk.and_then(|sdk| u64::try_from(sdk).ok()).unwrap_or_default()
}
