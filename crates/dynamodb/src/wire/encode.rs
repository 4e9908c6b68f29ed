//! Encodes values and items as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom_value::{Item, Value};

use crate::json::Writer;

/// Writes an item, as an object of attribute values.
pub(crate) fn write_item(w: &mut Writer, item: &Item) {
    w.object(|w| {
        for (name, value) in item.iter() {
            write_value(w.name(name.as_str()), value);
        }
    });
}

/// Writes a value, as an object with its type's name. Nesting was limited when it was stored.
pub(crate) fn write_value(w: &mut Writer, value: &Value) {
    w.object(|w| {
        let w = w.name(value.value_type().as_str());
        match value {
            Value::S(text) => w.text(text),
            Value::N(number) => w.plain_text(number),
            Value::B(bytes) => w.plain_text(STANDARD.encode(bytes)),
            Value::Bool(boolean) => w.boolean(*boolean),
            Value::Null => w.boolean(true),
            Value::L(elements) => {
                w.list(|w| elements.iter().for_each(|element| write_value(w, element)));
            }
            Value::M(members) => write_item(w, members),
            Value::Ss(texts) => w.list(|w| texts.iter().for_each(|text| w.text(text))),
            Value::Ns(numbers) => w.list(|w| numbers.iter().for_each(|n| w.plain_text(n))),
            Value::Bs(set) => {
                w.list(|w| set.iter().for_each(|bytes| w.plain_text(STANDARD.encode(bytes))));
            }
        }
    });
}
