//! What an operation says about itself.

use keyloom_model::{EntityId, Model};
use serde_json::Value as Json;

use super::answer::Answer;
use super::body::Body;
use super::field::id;
use super::parameter::Parameter;
use crate::rest::problem::Kind;

/// What an operation says about itself. What follows from its place, its access and its entity is added
/// where it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) group: Group,
    /// What it does, in a few words.
    pub(crate) summary: String,
    /// What else is to be known.
    pub(crate) details: Vec<String>,
    pub(crate) path_values: PathValues,
    /// What it takes in the query.
    pub(crate) query: Vec<Parameter>,
    /// What it takes as headers.
    pub(crate) headers: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    /// Everything that it can answer but problems.
    pub(crate) answers: Vec<Answer>,
    /// Problems of its own.
    pub(crate) problems: Vec<Kind>,
    /// Whether it changes data, and takes an `Idempotency-Key` therefore.
    pub(crate) is_change: bool,
    /// Whether it is about entities of all kinds.
    pub(crate) is_of_all_entities: bool,
    /// The entity that it creates.
    pub(crate) creates: Option<EntityId>,
    /// The ids that it takes.
    pub(crate) ids: Vec<TakenId>,
}

/// What the parameters of a path are.
#[derive(Clone, Debug)]
pub(crate) struct PathValues {
    /// The entity whose fields they are named after.
    pub(crate) fields_of: Option<EntityId>,
    /// The schema of all others.
    pub(crate) others: Json,
}

/// An id that an operation takes: where an answer with such an id leads.
#[derive(Clone, Debug)]
pub(crate) struct TakenId {
    /// The entity that has it.
    pub(crate) of: EntityId,
    /// Where OpenAPI says so: `parameters` or `requestBody`.
    pub(crate) place: &'static str,
    /// The parameter, or the member of the body.
    pub(crate) name: String,
}

/// What belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Entity(EntityId),
    Application,
    Together,
    Tokens,
    Service,
}

impl Description {
    /// A description without anything but a summary.
    pub(crate) fn new(group: Group, summary: impl Into<String>) -> Description {
        Description {
            group,
            summary: summary.into(),
            details: vec![],
            path_values: PathValues { fields_of: None, others: id() },
            query: vec![],
            headers: vec![],
            body: None,
            answers: vec![],
            problems: vec![],
            is_change: false,
            is_of_all_entities: false,
            creates: None,
            ids: vec![],
        }
    }
}

impl TakenId {
    /// The parameter `id` of a path.
    pub(crate) fn in_path(of: EntityId) -> TakenId {
        TakenId { of, place: "parameters", name: "id".to_owned() }
    }
}

impl Group {
    /// Its name: that of the entity, or one with a capital, which no entity has.
    pub(crate) fn name(self, model: &Model) -> &str {
        match self {
            Group::Entity(id) => &model.entity(id).name,
            Group::Application => "Application",
            Group::Together => "Together",
            Group::Tokens => "Tokens",
            Group::Service => "Service",
        }
    }
}
