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

use std::collections::{BTreeMap, BTreeSet};

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
    by_stored_name: BTreeMap<String, EntityId>,
    handlers: Vec<Handler>,
    jobs: Option<EntityId>,
    /// The earlier names of entities, as the model declares them.
    renamed: Vec<(EntityId, String)>,
    /// Names in keys of entities that no longer exist. No other one gets one of them, because rows of
    /// the system and changes from before may still have it.
    retired: BTreeSet<String>,
}

impl Model {
    pub(crate) fn new(
        entities: Vec<Entity>,
        handlers: Vec<Handler>,
        jobs: Option<EntityId>,
        renamed: Vec<(EntityId, String)>,
    ) -> Model {
        let named = entities.iter().zip(0..).map(|(e, index)| (e.name.clone(), EntityId(index)));
        let by_name: BTreeMap<_, _> = named.collect();
        let (by_stored_name, retired) = (by_name.clone(), BTreeSet::new());
        Model { entities, by_name, by_stored_name, handlers, jobs, renamed, retired }
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

    /// The entity that keys have under this name.
    pub fn find_stored(&self, stored: &str) -> Option<EntityId> {
        self.by_stored_name.get(stored).copied()
    }

    /// The entity that has this name, or had it, as far as the model and keys tell.
    pub fn find_formerly(&self, name: &str) -> Option<EntityId> {
        let renamed = || self.renamed.iter().find(|(_, earlier)| earlier == name);
        let id = self.find(name).or_else(|| renamed().map(|(id, _)| *id));
        id.or_else(|| self.find_stored(name))
    }

    /// The name of the entity that has, or had, this name; the same name if there is none.
    pub fn present_name<'n>(&'n self, name: &'n str) -> &'n str {
        self.find_formerly(name).map_or(name, |id| &self.entity(id).name)
    }

    /// The entity of an earlier model that an entity was: the one of its name, or of its earlier name.
    pub fn counterpart(&self, entity: EntityId, earlier: &Model) -> Option<EntityId> {
        earlier.find(&self.entity(entity).name).or_else(|| {
            let (_, name) = self.renamed.iter().find(|(id, _)| *id == entity)?;
            let id = earlier.find(name)?;
            (earlier.jobs() != Some(id)).then_some(id)
        })
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

    /// The built-in entity `job`, which a model has if it declares handlers or `jobs = true`. It is
    /// the last entity.
    pub fn jobs(&self) -> Option<EntityId> {
        self.jobs
    }
}
