//! The types of Rust that fields have: as they are read, as they are written, and as parameters of queries.

use keyloom_model::{Entity, EntityId, Field, FieldId, FieldOrigin, FieldType, Model};

use crate::names::{EntityNames, FieldNames, ModuleNames};

/// An entity of a model, with the names of everything.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'m> {
    pub(crate) model: &'m Model,
    pub(crate) names: &'m ModuleNames,
    pub(crate) id: EntityId,
}

/// A type, and how an expression becomes a value of it.
pub(crate) struct Parameter {
    /// The type of the parameter.
    pub(crate) of: String,
    /// What is after its name, to get the value.
    pub(crate) conversion: &'static str,
}

impl<'m> Scope<'m> {
    pub(crate) fn declared(self) -> &'m Entity {
        self.model.entity(self.id)
    }

    pub(crate) fn own_names(self) -> &'m EntityNames {
        self.names.entity(self.id)
    }

    pub(crate) fn field(self, id: FieldId) -> &'m Field {
        self.declared().field(id)
    }

    pub(crate) fn field_names(self, id: FieldId) -> &'m FieldNames {
        self.own_names().field(id)
    }

    /// The type of the values of a field.
    pub(crate) fn stored(self, id: FieldId) -> String {
        match self.field(id).origin {
            FieldOrigin::Id => self.own_names().id.clone(),
            FieldOrigin::Parent | FieldOrigin::Declared => self.of(id, Use::Stored),
        }
    }

    /// The type of the values that a field can be set to.
    pub(crate) fn written(self, id: FieldId) -> String {
        match self.field(id).origin {
            FieldOrigin::Id => self.own_names().id.clone(),
            FieldOrigin::Parent | FieldOrigin::Declared => self.of(id, Use::Written),
        }
    }

    /// The parameter for a value that a field is set to.
    pub(crate) fn given(self, id: FieldId) -> Parameter {
        let into = |of: &str| Parameter { of: format!("impl Into<{of}>"), conversion: ".into()" };
        let field = self.field(id);
        match (&field.origin, &field.of) {
            (FieldOrigin::Id, _) => Parameter { of: self.written(id), conversion: "" },
            (
                FieldOrigin::Parent | FieldOrigin::Declared,
                FieldType::Text(_)
                | FieldType::Number(_)
                | FieldType::Bytes(_)
                | FieldType::Any
                | FieldType::Ref(..),
            ) => into(&self.written(id)),
            (
                FieldOrigin::Parent | FieldOrigin::Declared,
                FieldType::Int(_)
                | FieldType::Bool
                | FieldType::Time
                | FieldType::Tags
                | FieldType::Enum(_)
                | FieldType::List(..)
                | FieldType::Map(..),
            ) => Parameter { of: self.written(id), conversion: "" },
        }
    }

    /// The type of the parameter for a value that entities are looked for by.
    pub(crate) fn queried(self, id: FieldId) -> String {
        let field = self.field(id);
        match (&field.origin, &field.of) {
            (FieldOrigin::Id, _) | (_, FieldType::Ref(..)) => format!("&{}", self.stored(id)),
            (_, FieldType::Text(_)) => "&str".to_owned(),
            (FieldOrigin::Parent | FieldOrigin::Declared, _) => self.stored(id),
        }
    }

    fn of(self, id: FieldId, used: Use) -> String {
        self.type_of(&self.field(id).of, self.field_names(id), used)
    }

    fn type_of(self, of: &FieldType, names: &FieldNames, used: Use) -> String {
        match of {
            FieldType::Text(_) => "String".to_owned(),
            FieldType::Int(_) => "i64".to_owned(),
            FieldType::Number(_) => "::keyloom::Number".to_owned(),
            FieldType::Bool => "bool".to_owned(),
            FieldType::Time => "typed::Time".to_owned(),
            FieldType::Bytes(_) => "Vec<u8>".to_owned(),
            FieldType::Any => "::keyloom::Value".to_owned(),
            FieldType::Tags => map_of("String"),
            FieldType::Enum(_) => names.enumeration.clone().unwrap_or_default(),
            FieldType::Ref(target, _) => {
                let target = self.names.entity(*target);
                match used {
                    Use::Stored => target.id.clone(),
                    Use::Written => format!("typed::Reference<{}>", target.entity),
                }
            }
            FieldType::List(of, _) => format!("Vec<{}>", self.type_of(of, names, used)),
            FieldType::Map(of, _) => map_of(&self.type_of(of, names, used)),
        }
    }
}

/// What a type is used for.
#[derive(Clone, Copy)]
enum Use {
    Stored,
    Written,
}

fn map_of(values: &str) -> String {
    format!("::std::collections::BTreeMap<String, {values}>")
}

impl Scope<'_> {
    /// The type of the members of a map that a field can be set to; none if it is no map.
    pub(crate) fn members(self, id: FieldId) -> Option<String> {
        match &self.field(id).of {
            FieldType::Tags => Some("String".to_owned()),
            FieldType::Map(of, _) => Some(self.type_of(of, self.field_names(id), Use::Written)),
            FieldType::Text(_)
            | FieldType::Int(_)
            | FieldType::Number(_)
            | FieldType::Bool
            | FieldType::Time
            | FieldType::Bytes(_)
            | FieldType::Any
            | FieldType::Enum(_)
            | FieldType::Ref(..)
            | FieldType::List(..) => None,
        }
    }
}
