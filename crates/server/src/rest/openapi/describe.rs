//! An operation as whoever uses it sees it.

use keyloom_model::{EntityId, Model};

use super::super::operation::{Access, Action, Operation};
use super::super::own_route::OwnRoute;
use super::super::problem::Kind;
use super::answer::{Answer, answers};
use super::body::{Body, body};
use super::parameter::{Parameter, parameters};
use super::problems::problems;
use super::sentence::{details, summary};

/// Everything that there is to know about an operation.
#[derive(Clone, Debug)]
pub(crate) struct Described<'o> {
    pub(crate) operation: &'o Operation,
    pub(crate) group: Group,
    pub(crate) summary: String,
    pub(crate) details: Vec<String>,
    pub(crate) access: Access,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) problems: Vec<Kind>,
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

/// Describes operations, in their order.
///
/// # Errors
///
/// If a route of an application has no schema.
pub(crate) fn describe<'o>(
    model: &Model,
    own: &[OwnRoute],
    operations: &'o [Operation],
) -> Result<Vec<Described<'o>>, String> {
    let described = |operation: &'o Operation| {
        Ok(Described {
            operation,
            group: group(operation),
            summary: summary(model, own, operation),
            details: details(model, operation),
            access: operation.access(),
            parameters: parameters(model, operation),
            body: body(model, operation),
            answers: answers(model, own, operation)?,
            problems: problems(model, operation),
        })
    };
    operations.iter().map(described).collect()
}

fn group(operation: &Operation) -> Group {
    match &operation.action {
        Action::Create(id)
        | Action::Read(id)
        | Action::Replace(id)
        | Action::Change(id)
        | Action::Delete(id)
        | Action::Job(id, _) => Group::Entity(*id),
        Action::Children { parent, .. } => Group::Entity(*parent),
        Action::Ask(asked) | Action::Values(asked, _) => Group::Entity(asked.entity),
        Action::Count(id, ..) | Action::Board(id, _) | Action::Ranked(id, _) => Group::Entity(*id),
        Action::Batch | Action::Transaction => Group::Together,
        Action::ListTokens | Action::CreateToken | Action::RevokeToken => Group::Tokens,
        Action::Changes(_)
        | Action::OpenApi
        | Action::Docs
        | Action::Health
        | Action::Ready
        | Action::Metrics => Group::Service,
        Action::Own(..) => Group::Application,
    }
}
