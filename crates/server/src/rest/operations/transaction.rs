//! `POST /transaction`: several changes, applied atomically.

use hyper::{Method, StatusCode};
use keyloom::Record;
use keyloom_model::{Entity, IdSource, Model};
use serde_json::{Value as Json, json};

use super::super::call::{Call, Reply};
use super::super::example::example;
use super::super::explain::{self, EXPLAIN};
use super::super::openapi::{
    Answer, AnswerHeader, BODY, Body, CHANGE, Description, Group, VERSIONED, explained_change,
    flag, id, of_new, one_text, or_named, reference, with,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changing::transact;
use super::parts::{Part, Parts, list_schema, parts};

#[derive(Debug)]
pub(crate) struct Transaction;

pub(super) fn transaction() -> Operation {
    let path = Segment::path("/transaction");
    Operation::new("transaction".to_owned(), Method::POST, path, Transaction)
}

impl Action for Transaction {
    fn access(&self) -> Access {
        Access::Data(Role::Writer)
    }

    fn describe(&self, model: &Model) -> Description {
        let about = "Report what would be written and what it costs, without writing anything.";
        let details = [
            "Up to 100 changes. The response has each entity as it is afterwards, or null if it was \
             deleted.",
            "A change that creates an entity can name it with `as`. In later changes, \
             `{\"$ref\": NAME}` then stands for its id: as `id`, in references and texts, and in lists \
             of these.",
        ];
        let of_entities: Vec<Kind> =
            model.entities().flat_map(|(_, entity)| of_new(entity)).collect();
        let results = Answer::json(200, "The results.", answer(model));
        Description {
            details: details.map(str::to_owned).to_vec(),
            query: vec![flag(EXPLAIN, about)],
            body: Some(Body::json(body(model), example_body(model))),
            answers: vec![results.with(&[AnswerHeader::Replayed])],
            problems: [BODY, CHANGE, VERSIONED, &of_entities, &[Kind::InUse]].concat(),
            is_change: true,
            is_of_all_entities: true,
            ..Description::new(Group::Together, "Apply several changes atomically")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.model))
    }
}

async fn run(call: &Call, model: &Model) -> Result<Reply, Problem> {
    call.check_parameters(&[EXPLAIN])?;
    let mut changes = vec![];
    for part in parts(call, model, Parts::Changes)? {
        match part {
            Part::Change { change, .. } => changes.push(change),
            Part::Get { .. } => {
                let detail = "A transaction cannot contain `get`: use `/batch` to read.";
                return Err(Problem::new(Kind::Invalid, detail));
            }
        }
    }
    if call.parsed(EXPLAIN, "`true` or `false`")?.unwrap_or(false) {
        call.caller.check_explained(Role::Writer)?;
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

/// The schema of the body.
fn body(model: &Model) -> Json {
    // Jobs can only be deleted.
    let changes = model.entities().flat_map(|(id, entity)| {
        let all = changes(entity);
        let skipped = if model.jobs() == Some(id) { all.len() - 1 } else { 0 };
        all.into_iter().skip(skipped)
    });
    let changes: Vec<Json> = changes.collect();
    list_schema(Parts::Changes, json!({ "anyOf": changes }))
}

/// The schema of the response.
fn answer(model: &Model) -> Json {
    let entities = model.entities().map(|(_, entity)| reference(entity, ""));
    let results: Vec<Json> = entities.chain([json!({ "type": "null" })]).collect();
    json!({
        "type": "object",
        "properties": {
            "results": { "type": "array", "items": { "anyOf": results } },
            "explain": explained_change(),
        },
        "anyOf": [{ "required": ["results"] }, { "required": ["explain"] }],
        "additionalProperties": false,
    })
}

fn example_body(model: &Model) -> Option<Json> {
    let (_, entity) = model.entities().next()?;
    let document = example(model, entity);
    Some(json!({ "changes": [
        { "create": entity.name, "document": document },
        { "delete": entity.name, "id": format!("ID OF {}", entity.name) },
    ] }))
}

/// The schemas of the changes of an entity; deletion is last.
fn changes(entity: &Entity) -> [Json; 4] {
    let part = |verb: &str, members: Json, required: &[&str]| {
        let members = with(members, verb, one_text(&entity.name));
        let required: Vec<&str> = [verb].into_iter().chain(required.iter().copied()).collect();
        json!({ "type": "object", "properties": members, "required": required,
                "additionalProperties": false })
    };
    let version = json!({ "type": "string" });
    let given = or_named(json!({ "type": "string" }));
    let put_id = if entity.id_source == IdSource::Given { or_named(id()) } else { given.clone() };
    let name = json!({
        "type": "string", "minLength": 1, "maxLength": 60,
        "description": "What later changes call the new entity.",
    });
    let create = reference(entity, ".create.named");
    let (patch, replace) = (reference(entity, ".patch.named"), reference(entity, ".replace.named"));
    [
        part("create", json!({ "document": create, "as": name }), &["document"]),
        part(
            "update",
            json!({ "id": given, "document": patch, "version": version }),
            &["id", "document"],
        ),
        part(
            "put",
            json!({ "id": put_id, "document": replace, "version": version }),
            &["id", "document"],
        ),
        part("delete", json!({ "id": given, "version": version }), &["id"]),
    ]
}
