//! An item → JSON text.

use keyloom_json::write_text;
use keyloom_model::{FieldType, Limits};
use keyloom_value::{Item, Value};

/// Formats an item as JSON on one line, names in order, numbers with all digits.
///
/// Bytes become base64, and sets become arrays; an item made by
/// [`Entity::to_external`](keyloom_model::Entity::to_external) has neither. O(n).
///
/// [`json_to_item`](crate::json_to_item) has an example.
pub fn item_to_json(item: &Item) -> String {
    let mut json = String::new();
    write_object(&mut json, item);
    json
}

fn write_object(json: &mut String, members: &Item) {
    json.push('{');
    for (index, (name, member)) in members.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        write_text(json, name.as_str());
        json.push(':');
        write_value(json, member);
    }
    json.push('}');
}

fn write_value(json: &mut String, value: &Value) {
    match value {
        Value::S(text) => write_text(json, text),
        Value::N(number) => json.push_str(&number.to_string()),
        Value::B(bytes) => write_bytes(json, bytes),
        Value::Bool(truth) => json.push_str(if *truth { "true" } else { "false" }),
        Value::Null => json.push_str("null"),
        Value::L(elements) => write_array(json, elements, write_value),
        Value::M(members) => write_object(json, members),
        Value::Ss(texts) => write_array(json, texts, |json, text| write_text(json, text)),
        Value::Ns(numbers) => {
            write_array(json, numbers, |json, number| json.push_str(&number.to_string()));
        }
        Value::Bs(bytes) => write_array(json, bytes, |json, bytes| write_bytes(json, bytes)),
    }
}

fn write_array<T>(
    json: &mut String,
    elements: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    json.push('[');
    for (index, element) in elements.into_iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        write(json, element);
    }
    json.push(']');
}

fn write_bytes(json: &mut String, bytes: &[u8]) {
    if let Value::S(text) = FieldType::Bytes(Limits::NONE).to_external(&Value::B(bytes.to_vec())) {
        write_text(json, &text);
    }
}
