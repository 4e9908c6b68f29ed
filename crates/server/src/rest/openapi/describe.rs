//! Complete descriptions of operations: their own, and what follows from their path, access and entity.

use keyloom_model::{Field, FieldType, Model};
use serde_json::json;

use super::super::operation::{Access, Operation};
use super::super::problem::Kind;
use super::super::reserved;
use super::super::segment::Segment;
use super::answer::Answer;
use super::body::Body;
use super::description::{Description, Group, PathValue, TakenId};
use super::field::{id, with};
use super::headers::{idempotency_key, tenant};
use super::parameter::{Location, Parameter, Values, explain, live, one_value};
use super::sentence::{spoken, with_article};
use super::who::who;

/// The complete description of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Described<'o> {
    pub(crate) operation: &'o Operation,
    pub(crate) group: Group,
    pub(crate) summary: String,
    pub(crate) details: Vec<String>,
    pub(crate) access: Access,
    /// Who may run it.
    pub(crate) who: Option<String>,
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
    match operation.access() {
        Access::Role(_) | Access::Data(_) => problems.extend(ALWAYS),
        Access::Public => problems.push(Kind::BadUri),
    }
    problems.extend(tenant_field.map(|_| Kind::TenantNeeded));
    problems.extend(description.is_change.then_some(Kind::WritesRefused));
    problems.sort();
    problems.dedup();
    let mut parameters = in_path(model, operation, &description);
    let entity = operation.action.entity().map(|id| model.entity(id));
    let is_query = operation.action.is_query();
    let mut answers = description.answers;
    answers.iter_mut().filter(|one| one.status == 200).for_each(|one| one.is_live = is_query);
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
        who: who(model, operation),
        parameters,
        body: description.body,
        answers,
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
        let PathValue { about, schema } = match (field, &description.path_values.other) {
            (Some(field), _) => of_field(model, field),
            (None, Some(other)) => other.clone(),
            (None, None) => of_group(model, description.group, name),
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

/// The value of a field in a path.
fn of_field(model: &Model, field: &Field) -> PathValue {
    let about = match field.of {
        FieldType::Ref(target, _) => {
            format!("The id of {}.", with_article(&model.entity(target).name))
        }
        _ => format!("The {}.", spoken(&field.name)),
    };
    PathValue { about, schema: one_value(field) }
}

/// The value that a path of a group has: the id of what its operations are about.
fn of_group(model: &Model, group: Group, name: &str) -> PathValue {
    let text = || json!({ "type": "string" });
    let (about, schema) = match group {
        Group::Entity(of) => (format!("The id of {}.", with_article(&model.entity(of).name)), id()),
        Group::Together => ("The id of the operation.".to_owned(), id()),
        Group::Tokens => ("The id of the token.".to_owned(), text()),
        Group::Application | Group::Service => (format!("The {}.", spoken(name)), text()),
    };
    PathValue { about, schema }
}
