//! Values of documents → stored form, and back. Nothing is refused here: what cannot be converted
//! stays as it is, and the checker finds that it is not in stored form.

use keyloom_value::Value;

use crate::model::FieldType;
use crate::{base64, time};

/// The stored form: text for a time or for bytes is read.
pub(super) fn stored(value: &Value, of: &FieldType) -> Value {
    converted(value, of, &|leaf, of| match (of, leaf) {
        (FieldType::Time, Value::S(text)) => time::parse(text).map(Value::from),
        (FieldType::Bytes(_), Value::S(text)) => base64::bytes(text).map(Value::B),
        _ => None,
    })
}

/// The outward form: times and bytes become text.
pub(super) fn shown(value: &Value, of: &FieldType) -> Value {
    converted(value, of, &|leaf, of| match (of, leaf) {
        (FieldType::Time, Value::N(ms)) => ms.to_i64().and_then(time::text).map(Value::S),
        (FieldType::Bytes(_), Value::B(bytes)) => Some(Value::S(base64::text(bytes))),
        _ => None,
    })
}

/// The value with everything in it changed for which there is a change.
fn converted(
    value: &Value,
    of: &FieldType,
    change: &dyn Fn(&Value, &FieldType) -> Option<Value>,
) -> Value {
    match (of, value) {
        (FieldType::List(of, _), Value::L(elements)) => {
            Value::L(elements.iter().map(|element| converted(element, of, change)).collect())
        }
        (FieldType::Map(of, _), Value::M(members)) => {
            let members = members.iter();
            Value::M(
                members.map(|(n, member)| (n.clone(), converted(member, of, change))).collect(),
            )
        }
        _ => change(value, of).unwrap_or_else(|| value.clone()),
    }
}
