//! The description that an operation gives of itself.

use keyloom_model::{EntityId, Model};
use serde_json::Value as Json;

use super::answer::Answer;
use super::body::Body;
use super::parameter::Parameter;
use crate::rest::problem::Kind;

/// The description that an operation gives of itself. `describe` adds what follows from its path, access
/// and entity.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) group: Group,
    /// What it does, in a few words.
    pub(crate) summary: String,
    /// Further sentences.
    pub(crate) details: Vec<String>,
    pub(crate) path_values: PathValues,
    /// Its query parameters.
    pub(crate) query: Vec<Parameter>,
    /// Its headers.
    pub(crate) headers: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    /// All responses except problems.
    pub(crate) answers: Vec<Answer>,
    /// Problems of its own.
    pub(crate) problems: Vec<Kind>,
    /// Whether it changes data, and so takes an `Idempotency-Key`.
    pub(crate) is_change: bool,
    /// Whether it works on entities of all kinds.
    pub(crate) is_of_all_entities: bool,
    /// The entity that it creates.
    pub(crate) creates: Option<EntityId>,
    /// The ids that it takes.
    pub(crate) ids: Vec<TakenId>,
}

/// The parameters of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathValues {
    /// The entity whose fields they name, if any.
    pub(crate) fields_of: Option<EntityId>,
    /// A parameter that names no field; `None` if it is the id of something of the group.
    pub(crate) other: Option<PathValue>,
}

/// The values of a parameter of a path.
#[derive(Clone, Debug)]
pub(crate) struct PathValue {
    /// Its description.
    pub(crate) about: String,
    pub(crate) schema: Json,
}

/// An id that an operation takes, for links from responses with such an id.
#[derive(Clone, Debug)]
pub(crate) struct TakenId {
    /// The entity whose id it is.
    pub(crate) of: EntityId,
    /// Where OpenAPI says so: `parameters` or `requestBody`.
    pub(crate) location: &'static str,
    /// The parameter, or the member of the body.
    pub(crate) name: String,
}

/// A group of operations in the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Entity(EntityId),
    Application,
    Together,
    Tokens,
    Service,
}

impl Description {
    /// A description with a summary only.
    pub(crate) fn new(group: Group, summary: impl Into<String>) -> Description {
        Description {
            group,
            summary: summary.into(),
            details: vec![],
            path_values: PathValues::default(),
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
        TakenId { of, location: "parameters", name: "id".to_owned() }
    }
}

impl Group {
    /// Its name: that of the entity, or a capitalized one, which no entity has.
    pub(crate) fn name(self, model: &Model) -> &str {
        match self {
            Group::Entity(id) => &model.entity(id).name,
            Group::Application => "Application",
            Group::Together => "Together",
            Group::Tokens => "Tokens",
            Group::Service => "Service",
        }
    }

    /// What its operations are for, in a sentence.
    pub(crate) fn about(self, model: &Model) -> String {
        match self {
            Group::Entity(id) => format!("Entities of the kind `{}`.", model.entity(id).name),
            Group::Application => "Operations of this application.".to_owned(),
            Group::Together => "Batches, transactions and changes of whole lists.".to_owned(),
            Group::Tokens => "Authentication.".to_owned(),
            Group::Service => "About the server itself.".to_owned(),
        }
    }
}
