//! Names in documents: `{"$ref": "order"}` stands for the id of the entity that an earlier change of
//! the same transaction has under the name `order`.
//!
//! They are replaced before a document is admitted, and only where nothing else could be meant: in
//! `id`, in fields of type `ref` and `text`, and in lists of these. In `any`, `map` and `tags`, such an
//! object is a value like any other.

use keyloom_value::{Item, Name, Value};

use super::FieldErrorKind;
use super::checker::{Checker, Location};
use super::error::{FieldError, excerpt};
use super::relative::APPEND;
use crate::layout::EntityKey;
use crate::model::{EntityId, FieldType, Model};

/// The member that makes an object a name.
const NAME: &str = "$ref";

impl Model {
    /// Replaces names in a document of an entity by ids. `named` finds the entity with a name.
    ///
    /// # Errors
    ///
    /// If a name is unknown, or a reference would get the id of an entity of another kind.
    pub fn replace_names<'k>(
        &self,
        entity: EntityId,
        document: &mut Item,
        named: &dyn Fn(&str) -> Option<&'k EntityKey>,
    ) -> Result<(), Vec<FieldError>> {
        let mut names = Names { model: self, named, checker: Checker::default() };
        for field in &self.entity(entity).fields {
            let Some(value) = document.get_mut(&field.name) else { continue };
            names.replace(value, &field.of, &Location::Field(&field.name));
        }
        names.checker.finish()
    }
}

struct Names<'n, 'k> {
    model: &'n Model,
    named: &'n dyn Fn(&str) -> Option<&'k EntityKey>,
    checker: Checker,
}

impl Names<'_, '_> {
    fn replace(&mut self, value: &mut Value, of: &FieldType, location: &Location<'_>) {
        match (of, value) {
            (FieldType::Ref(target, _), value @ Value::M(_)) => {
                self.replace_one(value, Some(*target), location);
            }
            (FieldType::Text(_), value @ Value::M(_)) => self.replace_one(value, None, location),
            (FieldType::List(of, _), Value::L(elements)) if is_replaced(of) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    self.replace(element, of, &Location::Element(location, index));
                }
            }
            // A patch that appends to the list.
            (FieldType::List(..), Value::M(members)) if members.len() == 1 => {
                if let Some(elements) = members.get_mut(APPEND) {
                    self.replace(elements, of, &Location::Member(location, &Name::from(APPEND)));
                }
            }
            _ => {}
        }
    }

    /// Replaces a name by an id, which must be that of a target if the field is a reference.
    fn replace_one(
        &mut self,
        value: &mut Value,
        target: Option<EntityId>,
        location: &Location<'_>,
    ) {
        let Some(name) = name(value) else { return };
        let Some(key) = (self.named)(name) else {
            return self.checker.report(location, FieldErrorKind::NotNamed { name: excerpt(name) });
        };
        match target {
            Some(target) if target != key.entity => {
                let entity = |id| self.model.entity(id).name.clone();
                let (expected, found) = (entity(target), entity(key.entity));
                let kind = FieldErrorKind::OtherEntity { name: excerpt(name), expected, found };
                self.checker.report(location, kind);
            }
            Some(_) | None => *value = Value::from(key.id.as_str()),
        }
    }
}

/// Lists in lists are left alone.
fn is_replaced(of: &FieldType) -> bool {
    matches!(of, FieldType::Ref(..) | FieldType::Text(_))
}

/// The name that a value is, if it is one.
fn name(value: &Value) -> Option<&str> {
    let Value::M(members) = value else { return None };
    members.get(NAME).filter(|_| members.len() == 1)?.as_s()
}
