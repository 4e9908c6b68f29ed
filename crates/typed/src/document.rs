//! Documents of new entities.

use keyloom::{Item, Value};

use crate::IntoValue;

/// The value of an optional field that has a default, in a new entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrDefault<T> {
    /// The default of the model.
    #[default]
    Default,
    /// No value.
    Absent,
    /// This value.
    Value(T),
}

impl<T> From<T> for OrDefault<T> {
    fn from(value: T) -> OrDefault<T> {
        OrDefault::Value(value)
    }
}

/// The document of a new entity, field by field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document(Item);

impl Document {
    /// A document without fields.
    pub fn new() -> Document {
        Document::default()
    }

    /// Sets a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl IntoValue) -> Document {
        self.0.insert(name, value.into_value());
        self
    }

    /// Sets a field, if there is a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl IntoValue>) -> Document {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Sets an optional field that has a default.
    #[must_use]
    pub fn with_or_default(self, name: &str, value: OrDefault<impl IntoValue>) -> Document {
        match value {
            OrDefault::Default => self,
            OrDefault::Absent => self.with(name, Value::Null),
            OrDefault::Value(value) => self.with(name, value),
        }
    }

    pub(crate) fn into_item(self) -> Item {
        self.0
    }
}
