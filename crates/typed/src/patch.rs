//! Patches: some changed fields of an entity.

use keyloom::{Item, Number, Value};

use crate::IntoValue;

/// Changes of some fields, field by field. Of several changes of one field, the last one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch(Item);

impl Patch {
    /// Sets a field. A map is merged into the one that a field of type `any`, `map` or `tags` has.
    #[must_use]
    pub fn set(mut self, field: &str, value: impl IntoValue) -> Patch {
        self.0.insert(field, value.into_value());
        self
    }

    /// Removes the value of an optional field.
    #[must_use]
    pub fn clear(self, field: &str) -> Patch {
        self.set(field, Value::Null)
    }

    /// Adds to a number.
    #[must_use]
    pub fn add(self, field: &str, addend: impl Into<Number>) -> Patch {
        self.set(field, Value::M(Item::from([("$add", addend.into())])))
    }

    /// Appends to a list.
    #[must_use]
    pub fn append(self, field: &str, values: Vec<impl IntoValue>) -> Patch {
        self.set(field, Value::M(Item::from([("$append", values.into_value())])))
    }

    /// Sets and removes members of a field of type `map` or `tags`: those that are none are removed.
    #[must_use]
    pub fn merge<T: IntoValue>(
        self,
        field: &str,
        members: impl IntoIterator<Item = (impl Into<String>, Option<T>)>,
    ) -> Patch {
        let members = members.into_iter().map(|(name, value)| {
            (name.into().into(), value.map_or(Value::Null, IntoValue::into_value))
        });
        self.set(field, Value::M(members.collect()))
    }

    pub(crate) fn into_item(self) -> Item {
        self.0
    }
}
