//! Complete descriptions of operations: their own, and what follows from their path, access and entity.

use keyloom_model::{Field, Model};
use serde_json::json;

use super::super::operation::{Access, Operation};
use super::super::problem::Kind;
use super::super::reserved;
use super::super::segment::Segment;
use super::answer::Answer;
use super::body::Body;
use super::description::{Description, Group, TakenId};
use super::field::with;
use super::headers::{idempotency_key, tenant};
use super::parameter::{Location, Parameter, Values, explain, live, one_value};
use super::sentence::spoken;

/// The complete description of an operation.
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
    /// In the order of their statuses, each once.
    pub(crate) problems: Vec<Kind>,
    pub(crate) creates: Option<keyloom_model::EntityId>,
    pub(super) ids: Vec<TakenId>,
}

/// Problems of every operation that needs a token.
const ALWAYS: [Kind; 8] = [
    Kind::BadUri,
    Kind::BadHeader,
    Kind::Unauthorized,
    Kind::Forbidden,
    Kind::WrongHost,
    Kind::Internal,
    Kind::Busy,
    Kind::Overdue,
];

/// Describes operations, in their order.
pub(crate) fn describe<'o>(model: &Model, operations: &'o [Operation]) -> Vec<Described<'o>> {
    operations.iter().map(|operation| described(model, operation)).collect()
}

fn described<'o>(model: &Model, operation: &'o Operation) -> Described<'o> {
    let description = operation.action.describe(model);
    let tenant_field = tenant_field(model, operation, &description);
    let mut problems = description.problems.clone();
    if let Access::Role(_) = operation.access() {
        problems.extend(ALWAYS);
    }
    problems.extend(tenant_field.map(|_| Kind::TenantNeeded));
    problems.extend(description.is_change.then_some(Kind::WritesRefused));
    problems.sort();
    problems.dedup();
    let mut parameters = in_path(model, operation, &description);
    let entity = operation.action.entity().map(|id| model.entity(id));
    let is_query = operation.action.is_query();
    let query = description.query.into_iter().chain(is_query.then(live));
    parameters.extend(query.map(|parameter| match entity {
        Some(entity) if parameter.name.starts_with('$') => {
            Parameter { name: reserved::name_for(&parameter.name, entity).to_owned(), ..parameter }
        }
        _ => parameter,
    }));
    parameters.extend(is_query.then(explain));
    parameters.extend(description.headers);
    parameters.extend(description.is_change.then(idempotency_key));
    parameters.extend(tenant_field.map(|field| tenant(&field.of)));
    Described {
        operation,
        group: description.group,
        summary: description.summary,
        details: description.details,
        access: operation.access(),
        parameters,
        body: description.body,
        answers: description.answers,
        problems,
        creates: description.creates,
        ids: description.ids,
    }
}

/// A tenant field of the model, if the data of an operation has tenants.
fn tenant_field<'m>(
    model: &'m Model,
    operation: &Operation,
    description: &Description,
) -> Option<&'m Field> {
    match operation.action.entity() {
        Some(entity) => model.tenant_field(entity),
        None if description.is_of_all_entities => {
            model.entities().find_map(|(id, _)| model.tenant_field(id))
        }
        None => None,
    }
}

fn in_path(model: &Model, operation: &Operation, description: &Description) -> Vec<Parameter> {
    let entity = description.path_values.fields_of.map(|id| model.entity(id));
    let parameter = |segment: &Segment| {
        let Segment::Parameter(name) = segment else { return None };
        let field = entity.and_then(|entity| Some(entity.field(entity.find_field(name)?)));
        let (about, schema) = match field {
            Some(field) => (format!("The {}.", spoken(name)), one_value(field)),
            None => ("The id.".to_owned(), description.path_values.others.clone()),
        };
        let schema = match schema["type"] == json!("string") {
            true => with(schema, "minLength", 1),
            false => schema,
        };
        let (name, location, values) = (name.clone(), Location::Path, Values::Repeated);
        Some(Parameter { name, location, is_required: true, about, schema, values })
    };
    operation.path.iter().filter_map(parameter).collect()
}
