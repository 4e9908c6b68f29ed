//! One entity in two models, with names instead of ids, which differ between models.

use crate::model::{
    Direction, Entity, EntityId, FieldId, FieldType, Literal, Model, OrderBy, Test,
};

use super::change::{Change, ChangeKind};
use super::refusal::Refusal;

/// An entity of one of the two models.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'m> {
    pub(super) model: &'m Model,
    pub(super) entity: &'m Entity,
}

/// An entity that both models have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'m> {
    pub(super) old: Side<'m>,
    pub(super) new: Side<'m>,
    /// Of the new model.
    pub(super) id: EntityId,
}

impl<'m> Pair<'m> {
    /// The name of the entity.
    pub(super) fn name(&self) -> &'m str {
        &self.new.entity.name
    }

    /// A field of the entity, as messages name it.
    pub(super) fn qualified_name(&self, field: &str) -> String {
        format!("`{}.{field}`", self.name())
    }

    pub(super) fn change(&self, kind: ChangeKind, text: String) -> Change {
        Change { entity: self.id, kind, text }
    }

    pub(super) fn refusal(&self, reason: String, help: String) -> Refusal {
        Refusal { entity: self.name().to_owned(), reason, help }
    }
}

impl<'m> Side<'m> {
    pub(super) fn new(model: &'m Model, id: EntityId) -> Side<'m> {
        Side { model, entity: model.entity(id) }
    }

    pub(super) fn name(&self, field: FieldId) -> &'m str {
        &self.entity.field(field).name
    }

    /// The name of a field in rows, which identifies it in both models.
    pub(super) fn stored(&self, field: FieldId) -> &'m str {
        &self.entity.field(field).stored
    }

    pub(super) fn stored_names(&self, fields: &[FieldId]) -> Vec<&'m str> {
        fields.iter().map(|field| self.stored(*field)).collect()
    }

    /// Names in a canonical order, where the declared order does not matter.
    pub(super) fn stored_set(&self, fields: &[FieldId]) -> Vec<&'m str> {
        let mut names = self.stored_names(fields);
        names.sort_unstable();
        names
    }

    pub(super) fn order(&self, order: &[OrderBy]) -> Vec<(&'m str, Direction)> {
        order.iter().map(|by| (self.stored(by.field), by.direction)).collect()
    }

    /// The tests of a `where`, in a canonical order.
    pub(super) fn filter(&self, tests: &'m [Test]) -> Vec<(&'m str, &'m Literal)> {
        let mut tests: Vec<_> =
            tests.iter().map(|test| (self.stored(test.field), &test.value)).collect();
        tests.sort_by_key(|(field, _)| *field);
        tests
    }

    /// The parent.
    pub(super) fn parent(&self) -> Option<&'m Entity> {
        match self.entity.field(self.entity.parent?).of {
            FieldType::Ref(target, _) => Some(self.model.entity(target)),
            _ => None,
        }
    }

    /// A type in the syntax of the model file, without its range.
    pub(super) fn describe(&self, of: &FieldType) -> String {
        match of {
            FieldType::Enum(members) => format!("enum({})", members.join(", ")),
            FieldType::Ref(target, _) => format!("ref {}", self.model.entity(*target).name),
            FieldType::List(of, _) => format!("list of {}", self.describe(of)),
            FieldType::Map(of, _) => format!("map of {}", self.describe(of)),
            FieldType::Text(_)
            | FieldType::Int(_)
            | FieldType::Number(_)
            | FieldType::Bool
            | FieldType::Time
            | FieldType::Bytes(_)
            | FieldType::Any
            | FieldType::Tags => of.name().to_owned(),
        }
    }
}
