//! Converts items in stored form to documents that a database accepts.

use keyloom_value::{Item, Value};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// An item as a document.
pub(crate) struct Document<'i>(pub(crate) &'i Item);

struct Part<'v>(&'v Value);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            map.serialize_entry(name.as_str(), &Part(value))?;
        }
        map.end()
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::S(text) => serializer.serialize_str(text),
            Value::N(number) => match number.to_i64() {
                Some(whole) => serializer.serialize_i64(whole),
                // The generators' decimals are the shortest texts of their floats.
                None => serializer.serialize_f64(number.to_string().parse().expect("a float")),
            },
            Value::B(bytes) => serializer.serialize_bytes(bytes),
            Value::Bool(truth) => serializer.serialize_bool(*truth),
            Value::Null => serializer.serialize_none(),
            Value::M(item) => Document(item).serialize(serializer),
            Value::L(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(&Part(value))?;
                }
                list.end()
            }
            Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => panic!("no document has sets"),
        }
    }
}
