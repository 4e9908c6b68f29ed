//! Values in external form → stored form, and back. Conversion does not fail: a value that cannot
//! be converted stays as it is, and the checker reports that it is not in stored form.

use keyloom_value::Value;

use crate::model::FieldType;
use crate::{base64, time};

/// Parses the texts of times and bytes.
pub(super) fn to_stored(value: &Value, of: &FieldType) -> Value {
    convert(value, of, &|leaf, of| match (of, leaf) {
        (FieldType::Time, Value::S(text)) => time::parse(text).map(Value::from),
        (FieldType::Bytes(_), Value::S(text)) => base64::decode(text).map(Value::B),
        _ => None,
    })
}

/// Writes times and bytes as texts.
pub(super) fn to_external(value: &Value, of: &FieldType) -> Value {
    convert(value, of, &|leaf, of| match (of, leaf) {
        (FieldType::Time, Value::N(ms)) => ms.to_i64().and_then(time::format).map(Value::S),
        (FieldType::Bytes(_), Value::B(bytes)) => Some(Value::S(base64::encode(bytes))),
        _ => None,
    })
}

/// Replaces every leaf for which `replace` returns a value.
fn convert(
    value: &Value,
    of: &FieldType,
    replace: &dyn Fn(&Value, &FieldType) -> Option<Value>,
) -> Value {
    match (of, value) {
        (FieldType::List(of, _), Value::L(elements)) => {
            Value::L(elements.iter().map(|element| convert(element, of, replace)).collect())
        }
        (FieldType::Map(of, _), Value::M(members)) => {
            let members = members.iter();
            Value::M(members.map(|(n, member)| (n.clone(), convert(member, of, replace))).collect())
        }
        _ => replace(value, of).unwrap_or_else(|| value.clone()),
    }
}
