//! The parts of batches and transactions.

use hyper::StatusCode;
use keyloom::{Change, Item, Value};
use keyloom_model::Model;
use serde_json::{Value as Json, json};

use super::super::call::{Call, cut};
use super::super::problem::{FieldProblem, Kind, Problem};

/// Maximum number of parts.
const REQUESTS_MAX: usize = 100;

/// One part of a batch or transaction.
#[derive(Debug)]
pub(super) enum Part {
    Get { entity: String, id: String },
    Change { change: Change, done: StatusCode },
}

/// The schema of the body: an object with one member, the list of parts.
pub(super) fn list_schema(name: &str, items: Json) -> Json {
    json!({
        "type": "object",
        "properties": { name: { "type": "array", "items": items, "maxItems": 100 } },
        "required": [name], "additionalProperties": false,
    })
}

/// Parses the parts of a request, and checks that the caller may run each.
pub(super) fn parts(call: &Call, model: &Model, name: &str) -> Result<Vec<Part>, Problem> {
    let mut document = call.document()?;
    let list = match document.remove(name) {
        Some(Value::L(list)) if document.is_empty() => list,
        _ => {
            let detail = format!("The body must be an object with one member, the list `{name}`.");
            return Err(Problem::new(Kind::Invalid, detail));
        }
    };
    if list.len() > REQUESTS_MAX {
        let detail =
            format!("`{name}` has {} members; at most {REQUESTS_MAX} are allowed.", list.len());
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    let parts = list.into_iter().enumerate();
    let parts = parts.map(|(index, value)| {
        part(call, model, value).map_err(|wrong| wrong.at(&format!("{name}[{index}]")))
    });
    parts.collect()
}

/// Why a part is rejected.
enum Wrong {
    /// It is malformed.
    Shape(String),
    /// The caller may not run it.
    Denied(Problem),
}

impl Wrong {
    /// The problem of the part at a path in the body.
    fn at(self, path: &str) -> Problem {
        match self {
            Wrong::Shape(detail) => {
                let error = FieldProblem { field: path.to_owned(), detail: detail.clone() };
                Problem::new(Kind::Invalid, format!("`{path}`: {detail}")).with_errors(vec![error])
            }
            Wrong::Denied(problem) => problem,
        }
    }
}

const VERBS: [&str; 5] = ["create", "update", "put", "delete", "get"];

/// Parses a part: `{"create": ENTITY, "document": {...}}` and so on.
fn part(call: &Call, model: &Model, value: Value) -> Result<Part, Wrong> {
    let shape = |detail: &str| Wrong::Shape(detail.to_owned());
    let Value::M(mut part) = value else { return Err(shape("It must be an object.")) };
    let verbs: Vec<&str> = VERBS.into_iter().filter(|verb| part.contains(verb)).collect();
    let [verb] = verbs[..] else {
        let detail = format!("It must have exactly one of `{}`.", VERBS.join("`, `"));
        return Err(Wrong::Shape(detail));
    };
    let entity = text(&mut part, verb)?.ok_or_else(|| shape("The verb must name an entity."))?;
    let Some(kind) = model.find(&entity) else {
        let known: Vec<&str> = model.entities().map(|(_, entity)| entity.name.as_str()).collect();
        let (entity, known) = (cut(&entity), known.join("`, `"));
        return Err(Wrong::Shape(format!("Unknown entity `{entity}`: use one of `{known}`.")));
    };
    call.caller.check_jobs(model, kind).map_err(Wrong::Denied)?;
    if model.jobs() == Some(kind) && !["get", "delete"].contains(&verb) {
        let detail = format!("A `{entity}` cannot be written: `/docs` lists its operations.");
        return Err(Wrong::Shape(detail));
    }
    check_open(call, verb, &entity).map_err(Wrong::Denied)?;
    if verb != "get" {
        call.caller.check_change(model.entity(kind)).map_err(Wrong::Denied)?;
    }
    let (id, version) = (text(&mut part, "id")?, text(&mut part, "version")?);
    if version.is_some() && ["create", "get"].contains(&verb) {
        let detail = format!("`{verb}` takes no `version`: omit it.");
        return Err(Wrong::Shape(detail));
    }
    let document = match part.remove("document") {
        None => None,
        Some(Value::M(document)) => Some(document),
        Some(_) => return Err(shape("`document` must be an object.")),
    };
    if let Some(name) = part.names().next() {
        let name = cut(name.as_str());
        return Err(Wrong::Shape(format!("It takes no member `{name}`.")));
    }
    let part = assembled(verb, &entity, (id, document)).ok_or_else(|| Wrong::Shape(needs(verb)))?;
    match (part, version) {
        (part, None) => Ok(part),
        (Part::Change { change, done }, Some(version)) if verb != "create" => {
            Ok(Part::Change { change: change.expecting(&version), done })
        }
        // Ignoring a condition would be worse than rejecting it.
        (_, Some(_)) => Err(Wrong::Shape(format!("`{verb}` takes no `version`."))),
    }
}

/// Closed operations cannot be run as parts, either.
fn check_open(call: &Call, verb: &str, entity: &str) -> Result<(), Problem> {
    let operation = match verb {
        "update" => "change",
        "put" => "replace",
        "get" => "read",
        verb => verb,
    };
    let name = format!("{operation}_{entity}");
    if !call.closed.contains(&name.as_str()) {
        return Ok(());
    }
    let detail = format!(
        "This application does not serve `{verb}` of `{entity}`: `/docs` lists its operations."
    );
    Err(Problem::new(Kind::Forbidden, detail))
}

/// Builds a part from its members. Returns `None` if the verb needs others.
fn assembled(verb: &str, entity: &str, members: (Option<String>, Option<Item>)) -> Option<Part> {
    let change = |change: Change, done| Some(Part::Change { change: change.from_client(), done });
    match (verb, members) {
        ("create", (None, Some(document))) => {
            change(Change::create_item(entity, document), StatusCode::CREATED)
        }
        ("update", (Some(id), Some(patch))) => {
            change(Change::update_item(entity, &id, patch), StatusCode::OK)
        }
        ("put", (Some(id), Some(document))) => {
            change(Change::put_item(entity, &id, document), StatusCode::OK)
        }
        ("delete", (Some(id), None)) => change(Change::delete(entity, &id), StatusCode::NO_CONTENT),
        ("get", (Some(id), None)) => Some(Part::Get { entity: entity.to_owned(), id }),
        _ => None,
    }
}

fn needs(verb: &str) -> String {
    let members = match verb {
        "create" => "`document`, and no `id`: an id that the client chooses is in the document",
        "update" | "put" => "`id` and `document`",
        _ => "`id` and no `document`",
    };
    format!("`{verb}` needs {members}.")
}

/// Removes a member that must be a string.
fn text(part: &mut Item, name: &str) -> Result<Option<String>, Wrong> {
    match part.remove(name) {
        None => Ok(None),
        Some(Value::S(text)) => Ok(Some(text)),
        Some(_) => Err(Wrong::Shape(format!("`{name}` must be a string."))),
    }
}
