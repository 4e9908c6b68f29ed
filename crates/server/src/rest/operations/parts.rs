//! The parts of a request that makes several in one.

use hyper::StatusCode;
use keyloom::{Change, Item, Value};
use keyloom_model::Model;
use serde_json::{Value as Json, json};

use super::super::call::{Call, cut};
use super::super::problem::{FieldProblem, Kind, Problem};

/// As many as there can be in one request.
const REQUESTS_MAX: usize = 100;

/// One part of a request.
#[derive(Debug)]
pub(super) enum Part {
    Get { entity: String, id: String },
    Change { change: Change, done: StatusCode },
}

/// An object with one member: a list of as many as one request can have.
pub(super) fn list_schema(name: &str, items: Json) -> Json {
    json!({
        "type": "object",
        "properties": { name: { "type": "array", "items": items, "maxItems": 100 } },
        "required": [name], "additionalProperties": false,
    })
}

/// The parts of a request, each allowed to its caller.
pub(super) fn parts(call: &Call, model: &Model, name: &str) -> Result<Vec<Part>, Problem> {
    let mut document = call.document()?;
    let list = match document.remove(name) {
        Some(Value::L(list)) if document.is_empty() => list,
        _ => {
            let detail = format!("The body is an object with one member, the list `{name}`.");
            return Err(Problem::new(Kind::Invalid, detail));
        }
    };
    if list.len() > REQUESTS_MAX {
        let detail =
            format!("`{name}` has {} members, and at most {REQUESTS_MAX} can be.", list.len());
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    let parts = list.into_iter().enumerate();
    let parts = parts.map(|(index, value)| {
        part(call, model, value).map_err(|wrong| wrong.at(&format!("{name}[{index}]")))
    });
    parts.collect()
}

/// What is wrong with a part.
enum Wrong {
    /// It cannot be read.
    Shape(String),
    /// The caller may not do it.
    Denied(Problem),
}

impl Wrong {
    fn at(self, place: &str) -> Problem {
        match self {
            Wrong::Shape(detail) => {
                let error = FieldProblem { field: place.to_owned(), detail: detail.clone() };
                Problem::new(Kind::Invalid, format!("`{place}`: {detail}")).with_errors(vec![error])
            }
            Wrong::Denied(problem) => problem,
        }
    }
}

const VERBS: [&str; 5] = ["create", "update", "put", "delete", "get"];

/// `{"create": ENTITY, "document": {...}}`, and so on.
fn part(call: &Call, model: &Model, value: Value) -> Result<Part, Wrong> {
    let shape = |detail: &str| Wrong::Shape(detail.to_owned());
    let Value::M(mut part) = value else { return Err(shape("It is an object.")) };
    let verbs: Vec<&str> = VERBS.into_iter().filter(|verb| part.contains(verb)).collect();
    let [verb] = verbs[..] else {
        let detail = format!("It has exactly one of `{}`.", VERBS.join("`, `"));
        return Err(Wrong::Shape(detail));
    };
    let entity = text(&mut part, verb)?.ok_or_else(|| shape("The verb names an entity."))?;
    let Some(kind) = model.find(&entity) else {
        let known: Vec<&str> = model.entities().map(|(_, entity)| entity.name.as_str()).collect();
        let (entity, known) = (cut(&entity), known.join("`, `"));
        return Err(Wrong::Shape(format!("There is no entity `{entity}`: there are `{known}`.")));
    };
    call.caller.check_jobs(model, kind).map_err(Wrong::Denied)?;
    if model.jobs() == Some(kind) && !["get", "delete"].contains(&verb) {
        let detail =
            format!("A `{entity}` is not written: `/docs` says what can be done with one.");
        return Err(Wrong::Shape(detail));
    }
    check_open(call, verb, &entity).map_err(Wrong::Denied)?;
    if verb != "get" {
        call.caller.check_change(model.entity(kind)).map_err(Wrong::Denied)?;
    }
    let (id, version) = (text(&mut part, "id")?, text(&mut part, "version")?);
    if version.is_some() && ["create", "get"].contains(&verb) {
        let detail = format!("`{verb}` expects no `version`: leave it out.");
        return Err(Wrong::Shape(detail));
    }
    let document = match part.remove("document") {
        None => None,
        Some(Value::M(document)) => Some(document),
        Some(_) => return Err(shape("`document` is an object.")),
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
        // A condition that nothing heeds would be worse than none.
        (_, Some(_)) => Err(Wrong::Shape(format!("`{verb}` takes no `version`."))),
    }
}

/// What requests cannot do one by one, they cannot do together.
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
    let detail = format!("`{verb}` is not for requests here: `{entity}` changes by its own rules.");
    Err(Problem::new(Kind::Forbidden, detail))
}

/// A part of these members; none if others are needed.
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
        "create" => "`document`, which has the `id` if ids are given, and no `id` beside it",
        "update" | "put" => "`id` and `document`",
        _ => "`id` and no `document`",
    };
    format!("`{verb}` needs {members}.")
}

/// A member that is a text, if it is there.
fn text(part: &mut Item, name: &str) -> Result<Option<String>, Wrong> {
    match part.remove(name) {
        None => Ok(None),
        Some(Value::S(text)) => Ok(Some(text)),
        Some(_) => Err(Wrong::Shape(format!("`{name}` is a text."))),
    }
}
