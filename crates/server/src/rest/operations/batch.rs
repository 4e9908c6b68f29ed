//! `POST /batch`: several independent requests.

use hyper::{Method, StatusCode};
use keyloom::Record;
use keyloom_model::{EntityId, Model};
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::super::call::{Call, Reply};
use super::super::example::example;
use super::super::openapi::{Answer, BODY, Body, Description, Group, any_object, component, with};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::parts::{Part, Parts, list_schema, parts};

#[derive(Debug)]
struct Batch;

pub(super) fn batch() -> Operation {
    Operation::new("batch".to_owned(), Method::POST, Segment::path("/batch"), Batch)
}

impl Action for Batch {
    /// Each part is checked separately.
    fn access(&self) -> Access {
        Access::Data(Role::Reader)
    }

    fn describe(&self, model: &Model) -> Description {
        let details = "Up to 100, run concurrently. The response has one result per request: a status, \
                       and a body or a problem.";
        let own = [Kind::BadParameter, Kind::Invalid, Kind::TooLarge];
        Description {
            details: vec![details.to_owned()],
            body: Some(Body::json(body(model), example_body(model))),
            answers: vec![Answer::json(200, "The results.", answer())],
            problems: [BODY, &own].concat(),
            is_of_all_entities: true,
            ..Description::new(Group::Together, "Send several independent requests")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.model))
    }
}

async fn run(call: &Call, model: &Model) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    if call.idempotency_key()?.is_some() {
        let detail = "The requests of a batch are independent, so one key cannot cover all of them: \
                      use `/transaction`, or omit `Idempotency-Key`.";
        return Err(Problem::new(Kind::BadHeader, detail));
    }
    let parts = parts(call, model, Parts::Requests)?;
    let count = parts.len();
    // Concurrently, so that they share a sync.
    let mut running = JoinSet::new();
    for (index, part) in parts.into_iter().enumerate() {
        let db = call.db.clone();
        running.spawn(async move { (index, answer_part(&db, part).await) });
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
                format!(
                    "{{\"status\":{status},\"problem\":{}}}",
                    problem.to_json(&call.exchange.request_id)
                )
            }
        };
    }
    let body = format!("{{\"results\":[{}]}}", results.join(","));
    Ok(Reply::json(StatusCode::OK, body))
}

async fn answer_part(
    db: &keyloom::Db,
    part: Part,
) -> Result<(StatusCode, Option<String>), Problem> {
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

/// The schema of the body. Documents are checked one by one, and an invalid one is reported in its own
/// result, so the schema accepts any object.
fn body(model: &Model) -> Json {
    let names = |is_named: &dyn Fn(EntityId) -> bool| {
        let named = model.entities().filter(|(id, _)| is_named(*id));
        let names: Vec<&str> = named.map(|(_, entity)| entity.name.as_str()).collect();
        json!({ "type": "string", "enum": names })
    };
    let (entity, written) = (names(&|_| true), names(&|id| model.jobs() != Some(id)));
    let (text, document) = (json!({ "type": "string" }), any_object());
    let part = |members: Json, required: &[&str]| {
        json!({ "type": "object", "properties": members, "required": required,
                "additionalProperties": false })
    };
    let parts = [
        part(json!({ "create": written, "document": document }), &["create", "document"]),
        part(
            json!({ "update": written, "id": text, "document": document, "version": text }),
            &["update", "id", "document"],
        ),
        part(
            json!({ "put": written, "id": text, "document": document, "version": text }),
            &["put", "id", "document"],
        ),
        part(json!({ "delete": entity, "id": text, "version": text }), &["delete", "id"]),
        part(json!({ "get": entity, "id": text }), &["get", "id"]),
    ];
    list_schema(Parts::Requests, json!({ "anyOf": parts }))
}

/// The schema of the response.
fn answer() -> Json {
    let status = json!({ "type": "integer", "minimum": 200, "maximum": 599 });
    let result = json!({
        "type": "object",
        "properties": {
            "status": status,
            "body": with(any_object(), "description", "The entity."),
            "problem": component("Problem"),
        },
        "required": ["status"], "additionalProperties": false,
    });
    json!({
        "type": "object", "properties": { "results": { "type": "array", "items": result } },
        "required": ["results"], "additionalProperties": false,
    })
}

fn example_body(model: &Model) -> Option<Json> {
    let (_, entity) = model.entities().next()?;
    let document = example(model, entity);
    Some(json!({ "requests": [
        { "create": entity.name, "document": document },
        { "get": entity.name, "id": format!("ID OF {}", entity.name) },
    ] }))
}
