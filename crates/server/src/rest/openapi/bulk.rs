//! Several requests in one, as JSON Schema.

use keyloom_model::{Entity, EntityId, IdSource, Model};
use serde_json::{Value as Json, json};

use super::super::example::example;
use super::entity::{explained, reference};
use super::field::{id, with};

/// The body of `/transaction`.
pub(super) fn transaction(model: &Model) -> Json {
    // Of what can be done to a job, deleting it is all that goes with others.
    let changes = model.entities().flat_map(|(id, entity)| {
        let all = changes(entity);
        let skipped = if model.jobs() == Some(id) { all.len() - 1 } else { 0 };
        all.into_iter().skip(skipped)
    });
    let changes: Vec<Json> = changes.collect();
    list("changes", json!({ "anyOf": changes }))
}

/// The answer of `/transaction`.
pub(super) fn transaction_answer(model: &Model) -> Json {
    let entities = model.entities().map(|(_, entity)| reference(entity, ""));
    let results: Vec<Json> = entities.chain([json!({ "type": "null" })]).collect();
    json!({
        "type": "object",
        "properties": {
            "results": { "type": "array", "items": { "anyOf": results } },
            "explain": explained(),
        },
        "anyOf": [{ "required": ["results"] }, { "required": ["explain"] }],
        "additionalProperties": false,
    })
}

/// The body of `/batch`. Its documents are judged one by one, and what is wrong with one is told in
/// its result, so that any object can be one.
pub(super) fn batch(model: &Model) -> Json {
    let names = |is_named: &dyn Fn(EntityId) -> bool| {
        let named = model.entities().filter(|(id, _)| is_named(*id));
        let names: Vec<&str> = named.map(|(_, entity)| entity.name.as_str()).collect();
        json!({ "enum": names })
    };
    let (entity, written) = (names(&|_| true), names(&|id| model.jobs() != Some(id)));
    let (text, document) = (json!({ "type": "string" }), json!({ "type": "object" }));
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
    list("requests", json!({ "anyOf": parts }))
}

/// The answer of `/batch`.
pub(super) fn batch_answer() -> Json {
    let status = json!({ "type": "integer", "minimum": 200, "maximum": 599 });
    let result = json!({
        "type": "object",
        "properties": {
            "status": status,
            "body": { "type": "object", "description": "The entity." },
            "problem": { "$ref": "#/components/schemas/Problem" },
        },
        "required": ["status"], "additionalProperties": false,
    });
    json!({
        "type": "object", "properties": { "results": { "type": "array", "items": result } },
        "required": ["results"], "additionalProperties": false,
    })
}

pub(super) fn transaction_example(model: &Model) -> Option<Json> {
    let (_, entity) = model.entities().next()?;
    let document = example(model, entity);
    Some(json!({ "changes": [
        { "create": entity.name, "document": document },
        { "delete": entity.name, "id": format!("ID OF {}", entity.name) },
    ] }))
}

pub(super) fn batch_example(model: &Model) -> Option<Json> {
    let (_, entity) = model.entities().next()?;
    let document = example(model, entity);
    Some(json!({ "requests": [
        { "create": entity.name, "document": document },
        { "get": entity.name, "id": format!("ID OF {}", entity.name) },
    ] }))
}

/// What can be done to an entity, each with a document of its kind.
fn changes(entity: &Entity) -> [Json; 4] {
    let part = |verb: &str, members: Json, required: &[&str]| {
        let members = with(members, verb, json!({ "const": entity.name }));
        let required: Vec<&str> = [verb].into_iter().chain(required.iter().copied()).collect();
        json!({ "type": "object", "properties": members, "required": required,
                "additionalProperties": false })
    };
    let (given, version) = (json!({ "type": "string" }), json!({ "type": "string" }));
    let put_id = if entity.id_source == IdSource::Given { id() } else { given.clone() };
    let (patch, replace) = (reference(entity, ".patch"), reference(entity, ".replace"));
    [
        part("create", json!({ "document": reference(entity, ".create") }), &["document"]),
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

fn list(name: &str, items: Json) -> Json {
    json!({
        "type": "object",
        "properties": { name: { "type": "array", "items": items, "maxItems": 100 } },
        "required": [name], "additionalProperties": false,
    })
}
