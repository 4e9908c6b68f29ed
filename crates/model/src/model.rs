//! The checked model: every name is resolved and every rule holds. Only [`check`](crate::check)
//! makes one, so code that has a [`Model`] need not check it again.

mod access;
mod board;
mod children;
mod conversion;
mod count;
mod entity;
mod field;
mod format;
mod handler;
mod id;
mod list;
mod literal;
mod pattern;
mod pattern_text;
mod related;
mod search;
mod sequence;
mod stored_names;
mod tags;
mod transition;
mod unique;
mod window;
mod zone;

use std::collections::BTreeMap;

pub use access::{Access, Grantees};
pub use board::{Board, Ranking};
pub(crate) use conversion::Retype;
pub use count::Count;
pub(crate) use entity::Moves;
pub use entity::{Entity, IdSource, Tenancy};
pub use field::{Field, FieldAccess, FieldOrigin, FieldType, Limits, OnDelete, Presence};
pub use format::{Format, FormatChoice, FormatRule};
pub use handler::{Handler, Target, TriggeringChange};
pub use id::{BoardId, CountId, EntityId, FieldId, ListId, SearchId, UniqueId};
pub use list::{Direction, List, OrderBy, PathPart, Test};
pub use literal::{DefaultValue, Literal};
pub(crate) use pattern::{Pattern, PatternRule};
pub use related::Related;
pub(crate) use search::{LANGUAGES, Language};
pub use search::{Search, Term};
pub use sequence::Sequence;
pub use stored_names::StoredNames;
pub use tags::TagCombination;
pub(crate) use transition::{InitialRule, TransitionRule};
pub use unique::{CaseMode, Unique};
pub use window::{Window, WindowUnit};
pub(crate) use zone::UTC;
pub use zone::{Zone, ZoneSource, ZoneSources};

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

    /// All entities, in the order of the file, followed by `job` if the model has jobs.
    pub fn entities(&self) -> impl Iterator<Item = (EntityId, &Entity)> {
        self.entities.iter().zip(0..).map(|(entity, index)| (EntityId(index), entity))
    }

    /// The entity with this id, which must come from this model.
    pub fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.index()]
    }

    /// The field that holds an entity's tenant: its own, or that of an ancestor.
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

    /// The board of this name, which is unique in the model, and its entity.
    pub fn find_board(&self, name: &str) -> Option<(EntityId, BoardId)> {
        self.entities().find_map(|(id, entity)| {
            let (board, _) = entity.boards().find(|(_, board)| board.name == name)?;
            Some((id, board))
        })
    }

    /// The entity that the entries of a board are: the target of the reference whose values it ranks, or
    /// the entity itself; none if it ranks other values.
    pub fn ranked(&self, id: EntityId, board: BoardId) -> Option<EntityId> {
        let entity = self.entity(id);
        match entity.board(board).ranking {
            Ranking::Field(_) => Some(id),
            Ranking::Count(field) => match entity.field(field).of {
                FieldType::Ref(target, _) => Some(target),
                _ => None,
            },
        }
    }

    /// The handlers, in the order of the file.
    pub fn handlers(&self) -> &[Handler] {
        &self.handlers
    }

    /// The rules of the time zones that it uses.
    pub fn zones(&self) -> ZoneSources {
        let counts = self.entities.iter().flat_map(|entity| &entity.counts);
        let zones = counts.filter_map(|count| count.window.as_ref().map(|window| &window.zone));
        let source = |zone: &Zone| Some((zone.name().to_owned(), zone.source()?.clone()));
        ZoneSources(zones.filter_map(source).collect())
    }

    /// The same model by the rules of time zones that are stored.
    #[must_use]
    pub fn with_zones(self, sources: &ZoneSources) -> Model {
        self.map_zones(|zone| zone.stored(sources).unwrap_or_else(|| zone.clone()))
    }

    /// The same model by the rules that are stored, where these are newer than those of this build.
    #[must_use]
    pub fn with_newer_zones(self, sources: &ZoneSources) -> Model {
        let newer = |zone: &Zone| zone.stored(sources).filter(|stored| stored.is_newer_than(zone));
        self.map_zones(|zone| newer(zone).unwrap_or_else(|| zone.clone()))
    }

    fn map_zones(mut self, map: impl Fn(&Zone) -> Zone) -> Model {
        let counts = self.entities.iter_mut().flat_map(|entity| &mut entity.counts);
        for window in counts.filter_map(|count| count.window.as_mut()) {
            window.zone = map(&window.zone);
        }
        self
    }

    pub(crate) fn entities_mut(&mut self) -> impl Iterator<Item = &mut Entity> {
        self.entities.iter_mut()
    }

    /// The built-in entity `job`, which a model has if it declares handlers or `jobs = true`. It is
    /// the last entity.
    pub fn jobs(&self) -> Option<EntityId> {
        self.jobs
    }
}
