//! The checked model: every name is resolved and every rule kept. Made by [`check`](crate::check)
//! alone, so whoever has one need not check anything again.

mod children;
mod entity;
mod field;
mod format;
mod list;
mod literal;

use std::collections::BTreeMap;

pub use entity::{Entity, EntityId, IdSource, Tenancy, Unique, UniqueId};
pub use field::{Field, FieldAccess, FieldId, FieldOrigin, FieldType, Limits, OnDelete, Presence};
pub use format::{Format, FormatChoice, FormatRule};
pub use list::{
    Board, BoardId, CaseMode, Count, CountId, Direction, Handler, List, ListId, OrderBy, PathPart,
    Ranking, TagCombination, Target, Test, TriggeringChange,
};
pub use literal::{DefaultValue, Literal};

/// A model without errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    entities: Vec<Entity>,
    by_name: BTreeMap<String, EntityId>,
    handlers: Vec<Handler>,
    jobs: Option<EntityId>,
}

impl Model {
    pub(crate) fn new(
        entities: Vec<Entity>,
        handlers: Vec<Handler>,
        jobs: Option<EntityId>,
    ) -> Model {
        let named = entities.iter().zip(0..).map(|(e, index)| (e.name.clone(), EntityId(index)));
        let by_name = named.collect();
        Model { entities, by_name, handlers, jobs }
    }

    /// All entities, in the order of the file; then `job`, if the model has it.
    pub fn entities(&self) -> impl Iterator<Item = (EntityId, &Entity)> {
        self.entities.iter().zip(0..).map(|(entity, index)| (EntityId(index), entity))
    }

    /// The entity with an id that this model gave out.
    pub fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.index()]
    }

    /// The field that says whose data an entity is: its own, or that of the ancestor it belongs to.
    pub fn tenant_field(&self, id: EntityId) -> Option<&Field> {
        match self.entity(id).tenancy {
            Tenancy::Shared => None,
            Tenancy::Own(field) => Some(self.entity(id).field(field)),
            Tenancy::Inherited(ancestor) => self.tenant_field(ancestor),
        }
    }

    /// The entity of this name.
    pub fn find(&self, name: &str) -> Option<EntityId> {
        self.by_name.get(name).copied()
    }

    /// The board of this name, which no other board of the model has, and whose it is.
    pub fn find_board(&self, name: &str) -> Option<(EntityId, BoardId)> {
        self.entities().find_map(|(id, entity)| {
            let (board, _) = entity.boards().find(|(_, board)| board.name == name)?;
            Some((id, board))
        })
    }

    /// What is called after changes, in the order of the file.
    pub fn handlers(&self) -> &[Handler] {
        &self.handlers
    }

    /// The entity `job`, which a model has by itself if something is called after changes or the
    /// author asks for it. It is the last one.
    pub fn jobs(&self) -> Option<EntityId> {
        self.jobs
    }
}
