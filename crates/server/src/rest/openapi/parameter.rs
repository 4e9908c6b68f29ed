//! What operations take in their path, their query and their headers.

use keyloom_model::{Entity, EntityId, Field, FieldId, FieldType, Model};
use serde_json::{Value as Json, json};

use super::super::operation::{Action, Asked, Operation, Segment};
use super::field::{Form, id, schema, with};
use super::headers;
use super::sentence::spoken;

/// A date and a time of day, as RFC 3339 has them.
const TIME: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?\
                    ([Zz]|[+-][0-9]{2}:[0-9]{2})";
const NUMBER: &str = "[+-]?([0-9]{1,38}(\\.[0-9]*)?|\\.[0-9]{1,38})([eE][+-]?[0-9]{1,2})?";

/// Something that an operation takes beside its body.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) is_required: bool,
    /// What it is for, in sentences.
    pub(crate) about: String,
    pub(crate) schema: Json,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        }
    }
}

/// All parameters of an operation, in the order of their places.
pub(super) fn parameters(model: &Model, operation: &Operation) -> Vec<Parameter> {
    let mut all = in_path(model, operation);
    match &operation.action {
        Action::Read(id) => all.extend(with_others(model, *id)),
        Action::Children { child, .. } => {
            all.extend([limit(), cursor()]);
            all.extend(with_others(model, *child));
        }
        Action::Ask(asked) => {
            all.extend(of_question(model.entity(asked.entity), asked));
            if !asked.lists.is_empty() {
                all.extend([limit(), cursor(), reverse()]);
            }
            all.extend(with_others(model, asked.entity));
        }
        Action::Changes => all.extend(of_changes(model)),
        Action::Job(..)
        | Action::Create(_)
        | Action::Replace(_)
        | Action::Change(_)
        | Action::Delete(_)
        | Action::Batch
        | Action::Transaction
        | Action::ListTokens
        | Action::CreateToken
        | Action::RevokeToken
        | Action::OpenApi
        | Action::Docs
        | Action::Health
        | Action::Metrics
        | Action::Own(_) => {}
    }
    all.extend(headers::parameters(model, operation));
    all
}

/// The entity whose tenant field says what a tenant is, if the data of an operation has tenants.
pub(super) fn tenant_field<'m>(model: &'m Model, operation: &Operation) -> Option<&'m Field> {
    match &operation.action {
        Action::Changes | Action::Batch | Action::Transaction | Action::Own(_) => {
            model.entities().find_map(|(id, _)| model.tenant_field(id))
        }
        action => model.tenant_field(action.entity()?),
    }
}

fn in_path(model: &Model, operation: &Operation) -> Vec<Parameter> {
    let (entity, which) = match &operation.action {
        Action::Ask(asked) => (Some(model.entity(asked.entity)), id()),
        Action::Own(_) | Action::RevokeToken => (None, json!({ "type": "string" })),
        _ => (None, id()),
    };
    let parameter = |segment: &Segment| match segment {
        Segment::Text(_) => None,
        Segment::Parameter(name) => {
            let field = entity.and_then(|entity| Some(entity.field(entity.find_field(name)?)));
            let (about, schema) = match field {
                Some(field) => (format!("The {}.", spoken(name)), one_value(field)),
                None => ("Which one.".to_owned(), which.clone()),
            };
            let schema = match schema["type"] == json!("string") {
                true => with(schema, "minLength", 1),
                false => schema,
            };
            let (name, place) = (name.clone(), Place::Path);
            Some(Parameter { name, place, is_required: true, about, schema })
        }
    };
    operation.path.iter().filter_map(parameter).collect()
}

fn of_changes(model: &Model) -> [Parameter; 3] {
    let told = model.entities().filter(|(id, _)| model.jobs() != Some(*id));
    let names: Vec<&str> = told.map(|(_, entity)| entity.name.as_str()).collect();
    let parameter = |name: &str, place, about: &str, schema| {
        let (name, about) = (name.to_owned(), about.to_owned());
        Parameter { name, place, is_required: false, about, schema }
    };
    let kinds = json!({ "type": "array", "items": { "enum": names } });
    let position = json!({ "type": "string" });
    [
        parameter("entity", Place::Query, "Only events of this kind; may be repeated.", kinds),
        parameter(
            "after",
            Place::Query,
            "Only what happened after this position.",
            position.clone(),
        ),
        parameter("Last-Event-ID", Place::Header, "The same, as browsers say it.", position),
    ]
}

/// What the questions of a path take as parameters of the query.
fn of_question(entity: &Entity, asked: &Asked) -> Vec<Parameter> {
    let parameter = |name: &&str| {
        let id = entity.find_field(name)?;
        let field = entity.field(id);
        let lists = || asked.lists.iter().map(|list| entity.list(*list));
        let uniques = || asked.uniques.iter().map(|unique| entity.unique(*unique));
        let orders = lists().any(|list| list.order.iter().any(|order| order.field == id));
        let is_value = |fields: &[FieldId]| fields.contains(&id);
        let is_required = lists().all(|list| is_value(&list.by))
            && uniques().all(|unique| is_value(&unique.fields) || unique.within == Some(id));
        let (about, schema) = match orders {
            true => (bounds_about(field), bounds(field)),
            false => (format!("The {}.{}", spoken(name), sign_rule(field)), query_value(field)),
        };
        let (name, place) = ((*name).to_owned(), Place::Query);
        Some(Parameter { name, place, is_required, about, schema })
    };
    asked.parameters(entity).iter().filter_map(parameter).collect()
}

/// A value of a field in a path.
fn one_value(field: &Field) -> Json {
    match &field.of {
        FieldType::Text(_) => json!({ "type": "string" }),
        FieldType::Ref(..) => id(),
        FieldType::Int(_) => schema(&FieldType::Int(keyloom_model::Limits::NONE), Form::Given),
        FieldType::Number(_) => {
            schema(&FieldType::Number(keyloom_model::Limits::NONE), Form::Given)
        }
        of => schema(of, Form::Shown),
    }
}

/// A value of a field in a query, where a text that begins with a sign would be read as a bound.
fn query_value(field: &Field) -> Json {
    match &field.of {
        FieldType::Text(_) | FieldType::Ref(..) => {
            json!({ "type": "string", "pattern": "^(?![<>])" })
        }
        _ => one_value(field),
    }
}

fn sign_rule(field: &Field) -> &'static str {
    match field.of {
        FieldType::Text(_) | FieldType::Ref(..) => {
            " One that begins with `<`, `>` or `=` is written with `=` before it."
        }
        _ => "",
    }
}

/// A value, or a lower bound and an upper one.
fn bounds(field: &Field) -> Json {
    let value = match &field.of {
        FieldType::Int(_) => Some("[+-]?[0-9]{1,18}".to_owned()),
        FieldType::Number(_) => Some(NUMBER.to_owned()),
        FieldType::Bool => Some("(true|false)".to_owned()),
        FieldType::Time => Some(TIME.to_owned()),
        FieldType::Enum(members) => Some(format!("({})", members.join("|"))),
        _ => None,
    };
    let item = match value {
        Some(value) => json!({ "type": "string", "pattern": format!("^(<=?|>=?|=)?{value}$") }),
        None => json!({ "type": "string" }),
    };
    json!({ "type": "array", "items": item, "minItems": 1, "maxItems": 2 })
}

fn bounds_about(field: &Field) -> String {
    let name = spoken(&field.name);
    format!(
        "The {name}, or bounds of it: a value after `<`, `<=`, `>` or `>=`; once, or once for each \
         end.{}",
        sign_rule(field)
    )
}

fn query(name: &str, about: &str, schema: Json) -> Parameter {
    let (name, about, place) = (name.to_owned(), about.to_owned(), Place::Query);
    Parameter { name, place, is_required: false, about, schema }
}

/// What can come with entities of a kind. The pattern has the first steps of paths alone: those
/// after them depend on where the first one leads.
fn with_others(model: &Model, id: EntityId) -> Option<Parameter> {
    let entity = model.entity(id);
    let references = entity.fields.iter().filter(|field| matches!(field.of, FieldType::Ref(..)));
    let references = references.map(|field| field.name.clone());
    let children = model.children(id).into_iter().map(|(name, _)| name);
    let names: Vec<String> = references.chain(children).collect();
    let about = format!(
        "What is to come with it, under `with`: `{}`. Further steps follow after dots, several paths \
         after commas.",
        names.join("`, `")
    );
    let step = format!("({})", names.join("|"));
    let schema = json!({ "type": "string", "pattern": format!("^({step}(,{step}){{0,3}})?$") });
    (!names.is_empty()).then(|| query("with", &about, schema))
}

fn limit() -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 20 });
    query("limit", "How many at most.", schema)
}

fn cursor() -> Parameter {
    let about = "Where to go on: the `next` of the page before, with everything else the same.";
    query("cursor", about, json!({ "type": "string" }))
}

fn reverse() -> Parameter {
    query("reverse", "From the end.", json!({ "type": "boolean", "default": false }))
}
