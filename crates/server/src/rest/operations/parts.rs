//! The parts of batches and transactions.

use hyper::StatusCode;
use keyloom::{Change, Item, Value};
use keyloom_model::Model;
use serde_json::{Value as Json, json};

use super::super::call::{Call, cut};
use super::super::problem::{FieldProblem, Kind, Problem};

/// Maximum number of parts.
const REQUESTS_MAX: usize = 100;

/// Maximum length of a name, in characters.
const NAME_LENGTH_MAX: usize = 60;

/// Where parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// In a batch.
    Requests,
    /// In a transaction: they can refer to each other.
    Changes,
}

impl Parts {
    /// The member of the body that holds them.
    pub(super) fn member(self) -> &'static str {
        match self {
            Parts::Requests => "requests",
            Parts::Changes => "changes",
        }
    }
}

/// One part of a batch or transaction.
#[derive(Debug)]
pub(super) enum Part {
    Get { entity: String, id: String },
    Change { change: Change, done: StatusCode },
}

/// The schema of the body: an object with one member, the list of parts.
pub(super) fn list_schema(of: Parts, items: Json) -> Json {
    let name = of.member();
    json!({
        "type": "object",
        "properties": { name: { "type": "array", "items": items, "maxItems": 100 } },
        "required": [name], "additionalProperties": false,
    })
}

/// Parses the parts of a request, and checks that the caller may run each.
pub(super) fn parts(call: &Call, model: &Model, of: Parts) -> Result<Vec<Part>, Problem> {
    let name = of.member();
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
        PartReader { call, model, of }
            .read(value)
            .map_err(|wrong| wrong.at(&format!("{name}[{index}]")))
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

/// Reads the parts of a request.
#[derive(Clone, Copy)]
struct PartReader<'r> {
    call: &'r Call,
    model: &'r Model,
    of: Parts,
}

/// What a part consists of, besides its verb and its entity.
struct Members {
    id: Option<GivenId>,
    document: Option<Item>,
    version: Option<String>,
    name: Option<String>,
}

/// An id, or the name of an entity that has it.
enum GivenId {
    Text(String),
    Of(String),
}

impl PartReader<'_> {
    /// Parses a part: `{"create": ENTITY, "document": {...}}` and so on.
    fn read(self, value: Value) -> Result<Part, Wrong> {
        let shape = |detail: &str| Wrong::Shape(detail.to_owned());
        let Value::M(mut part) = value else { return Err(shape("It must be an object.")) };
        let verbs: Vec<&str> = VERBS.into_iter().filter(|verb| part.contains(verb)).collect();
        let [verb] = verbs[..] else {
            let detail = format!("It must have exactly one of `{}`.", VERBS.join("`, `"));
            return Err(Wrong::Shape(detail));
        };
        let entity =
            text(&mut part, verb)?.ok_or_else(|| shape("The verb must name an entity."))?;
        self.check_allowed(verb, &entity)?;
        let members = self.members(part)?;
        if members.version.is_some() && ["create", "get"].contains(&verb) {
            let detail = format!("`{verb}` takes no `version`: omit it.");
            return Err(Wrong::Shape(detail));
        }
        if members.name.is_some() && verb != "create" {
            let detail = format!("`{verb}` takes no `as`: use the id of the entity.");
            return Err(Wrong::Shape(detail));
        }
        assembled(verb, &entity, members).ok_or_else(|| Wrong::Shape(needs(verb)))
    }

    /// Checks that the caller may do this with an entity.
    fn check_allowed(self, verb: &str, entity: &str) -> Result<(), Wrong> {
        let PartReader { call, model, .. } = self;
        let Some(kind) = model.find(entity) else {
            let known: Vec<&str> =
                model.entities().map(|(_, entity)| entity.name.as_str()).collect();
            let (entity, known) = (cut(entity), known.join("`, `"));
            return Err(Wrong::Shape(format!("Unknown entity `{entity}`: use one of `{known}`.")));
        };
        call.caller.check_jobs(model, kind).map_err(Wrong::Denied)?;
        if model.jobs() == Some(kind) && !["get", "delete"].contains(&verb) {
            let detail = format!("A `{entity}` cannot be written: `/docs` lists its operations.");
            return Err(Wrong::Shape(detail));
        }
        check_open(call, verb, entity).map_err(Wrong::Denied)?;
        if verb != "get" {
            call.caller.check_change(model.entity(kind)).map_err(Wrong::Denied)?;
        }
        Ok(())
    }

    fn members(self, mut part: Item) -> Result<Members, Wrong> {
        let id = self.id(&mut part)?;
        let version = text(&mut part, "version")?;
        let name = match self.of {
            Parts::Changes => text(&mut part, "as")?,
            Parts::Requests => None,
        };
        if let Some(name) = &name {
            check_name(name)?;
        }
        let document = match part.remove("document") {
            None => None,
            Some(Value::M(document)) => Some(document),
            Some(_) => return Err(Wrong::Shape("`document` must be an object.".to_owned())),
        };
        if let Some(name) = part.names().next() {
            let name = cut(name.as_str());
            return Err(Wrong::Shape(format!("It takes no member `{name}`.")));
        }
        Ok(Members { id, document, version, name })
    }

    /// Removes the id: a string, or in transactions `{"$ref": NAME}`.
    fn id(self, part: &mut Item) -> Result<Option<GivenId>, Wrong> {
        if self.of == Parts::Changes
            && let Some(Value::M(members)) = part.get("id")
            && let Some(Value::S(name)) = members.get("$ref").filter(|_| members.len() == 1)
        {
            let name = name.clone();
            part.remove("id");
            return Ok(Some(GivenId::Of(name)));
        }
        Ok(text(part, "id")?.map(GivenId::Text))
    }
}

fn check_name(name: &str) -> Result<(), Wrong> {
    let length = name.chars().count();
    if (1..=NAME_LENGTH_MAX).contains(&length) {
        return Ok(());
    }
    let detail =
        format!("`as` must have 1 to {NAME_LENGTH_MAX} characters, and this has {length}.");
    Err(Wrong::Shape(detail))
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
fn assembled(verb: &str, entity: &str, members: Members) -> Option<Part> {
    let Members { id, document, version, name } = members;
    let (id, id_of) = match id {
        None => (None, None),
        Some(GivenId::Text(id)) => (Some(id), None),
        // The id is known when the named entity is.
        Some(GivenId::Of(name)) => (Some(String::new()), Some(name)),
    };
    let (change, done) = match (verb, id, document) {
        ("create", None, Some(document)) => {
            (Change::create_item(entity, document), StatusCode::CREATED)
        }
        ("update", Some(id), Some(patch)) => {
            (Change::update_item(entity, &id, patch), StatusCode::OK)
        }
        ("put", Some(id), Some(document)) => {
            (Change::put_item(entity, &id, document), StatusCode::OK)
        }
        ("delete", Some(id), None) => (Change::delete(entity, &id), StatusCode::NO_CONTENT),
        ("get", Some(id), None) => return Some(Part::Get { entity: entity.to_owned(), id }),
        _ => return None,
    };
    let change = id_of.iter().fold(change.from_client(), |change, name| change.with_id_of(name));
    let change = version.iter().fold(change, |change, version| change.expecting(version));
    let change = name.iter().fold(change, |change, name| change.named(name));
    Some(Part::Change { change, done })
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
