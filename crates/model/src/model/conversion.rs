//! Values of a field whose type has changed. A value is converted only if it can be converted back:
//! nothing of it is lost.

use keyloom_value::{Number, Value};

use super::FieldType;
use crate::time;

/// What a change of a type means for stored values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retype {
    /// It is the same type, perhaps with other rules.
    Same,
    /// Values are stored as before, if they are valid.
    Reinterpreted,
    /// Values are converted, if they can be.
    Converted,
    /// There is no conversion.
    Impossible,
}

impl FieldType {
    pub(crate) fn retype(&self, to: &FieldType) -> Retype {
        match (self, to) {
            (FieldType::Int(_), FieldType::Number(_))
            | (FieldType::Number(_), FieldType::Int(_))
            | (FieldType::Text(_), FieldType::Enum(_))
            | (FieldType::Enum(_), FieldType::Text(_)) => Retype::Reinterpreted,
            (
                FieldType::Int(_) | FieldType::Number(_) | FieldType::Bool | FieldType::Time,
                FieldType::Text(_),
            )
            | (
                FieldType::Text(_),
                FieldType::Int(_) | FieldType::Number(_) | FieldType::Bool | FieldType::Time,
            ) => Retype::Converted,
            _ if std::mem::discriminant(self) == std::mem::discriminant(to) => Retype::Same,
            _ => Retype::Impossible,
        }
    }

    /// A stored value of this type as one of another type; `None` if something of it would be lost. A
    /// type that is stored in the same way takes it as it is.
    pub fn convert(&self, to: &FieldType, value: &Value) -> Option<Value> {
        match self.retype(to) {
            Retype::Same | Retype::Reinterpreted => Some(value.clone()),
            Retype::Impossible => None,
            Retype::Converted => match value {
                Value::S(text) => {
                    let converted = to.value_of(text)?;
                    (to.text_of(&converted)? == *text).then_some(converted)
                }
                _ => {
                    let text = self.text_of(value)?;
                    let is_same = self.value_of(&text).as_ref() == Some(value);
                    is_same.then_some(Value::S(text))
                }
            },
        }
    }

    /// The text of a value, as it is written in JSON.
    fn text_of(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (FieldType::Int(_) | FieldType::Number(_), Value::N(number)) => {
                Some(number.to_string())
            }
            (FieldType::Bool, Value::Bool(truth)) => Some(truth.to_string()),
            (FieldType::Time, Value::N(ms)) => time::format(ms.to_i64()?),
            _ => None,
        }
    }

    fn value_of(&self, text: &str) -> Option<Value> {
        match self {
            FieldType::Int(_) => text.parse::<i64>().ok().map(Value::from),
            FieldType::Number(_) => text.parse::<Number>().ok().map(Value::N),
            FieldType::Bool => text.parse::<bool>().ok().map(Value::Bool),
            FieldType::Time => time::parse(text).map(Value::from),
            _ => None,
        }
    }
}
