//! Several requests in one: together or not at all (`/transaction`), or each for itself (`/batch`).

use hyper::StatusCode;
use keyloom::{Change, Item, Record, Value};
use keyloom_model::Model;
use serde_json::json;
use tokio::task::JoinSet;

use super::call::{Call, Reply, cut};
use super::entity::transact;
use super::explain::{self, EXPLAIN};
use super::problem::{FieldProblem, Kind, Problem};

/// As many as there can be in one request.
const REQUESTS_MAX: usize = 100;

/// One part of a request.
#[derive(Debug)]
enum Part {
    Get { entity: String, id: String },
    Change { change: Change, done: StatusCode },
}

pub(super) async fn transaction(call: &Call, model: &Model) -> Result<Reply, Problem> {
    call.check_parameters(&[EXPLAIN])?;
    let mut changes = vec![];
    for part in parts(call, model, "changes")? {
        match part {
            Part::Change { change, .. } => changes.push(change),
            Part::Get { .. } => {
                let detail = "A transaction changes things: read with `/batch`.";
                return Err(Problem::new(Kind::Invalid, detail));
            }
        }
    }
    if call.parsed(EXPLAIN, "`true` or `false`")?.unwrap_or(false) {
        let writes = call.db.rehearse(changes).await?;
        let body = json!({ "explain": explain::writes(&writes) }).to_string();
        return Ok(Reply::json(StatusCode::OK, body));
    }
    let done = transact(call, changes).await?;
    let json = |record: &Option<Record>| {
        record.as_ref().map_or_else(|| "null".to_owned(), Record::to_json)
    };
    let results: Vec<String> = done.records.iter().map(json).collect();
    let body = format!("{{\"results\":[{}]}}", results.join(","));
    Ok(done.reply(Reply::json(StatusCode::OK, body)))
}

pub(super) async fn batch(call: &Call, model: &Model, request_id: &str) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    if call.idempotency_key()?.is_some() {
        let detail = "The parts of a batch happen each for itself, so one key cannot be about \
                      all of them: use `/transaction`, or leave `Idempotency-Key` out.";
        return Err(Problem::new(Kind::BadHeader, detail));
    }
    let parts = parts(call, model, "requests")?;
    let count = parts.len();
    // At the same time, so that they share what a sync costs.
    let mut running = JoinSet::new();
    for (index, part) in parts.into_iter().enumerate() {
        let db = call.db.clone();
        running.spawn(async move { (index, answer(&db, part).await) });
    }
    let mut results = vec![String::new(); count];
    while let Some(joined) = running.join_next().await {
        let (index, answer) = joined
            .map_err(|error| Problem::new(Kind::Internal, "").with_cause(error.to_string()))?;
        results[index] = match answer {
            Ok((status, Some(body))) => {
                format!("{{\"status\":{},\"body\":{body}}}", status.as_u16())
            }
            Ok((status, None)) => format!("{{\"status\":{}}}", status.as_u16()),
            Err(problem) => {
                let status = problem.status().as_u16();
                format!("{{\"status\":{status},\"problem\":{}}}", problem.to_json(request_id))
            }
        };
    }
    let body = format!("{{\"results\":[{}]}}", results.join(","));
    Ok(Reply::json(StatusCode::OK, body))
}

async fn answer(db: &keyloom::Db, part: Part) -> Result<(StatusCode, Option<String>), Problem> {
    match part {
        Part::Get { entity, id } => {
            let record = db.get(&entity, &id).await?;
            let record = record.ok_or(keyloom::Error::NotFound { entity, id })?;
            Ok((StatusCode::OK, Some(record.to_json())))
        }
        Part::Change { change, done } => {
            let record = db.transact(vec![change]).await?.pop().flatten();
            Ok((done, record.as_ref().map(Record::to_json)))
        }
    }
}

/// The parts of a request, each allowed to its caller.
fn parts(call: &Call, model: &Model, name: &str) -> Result<Vec<Part>, Problem> {
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
