//! What operations take as a body.

use keyloom_model::{
    Entity, EntityId, Field, FieldAccess, FieldId, FieldOrigin, FieldType, Model, Tenancy,
};
use serde_json::{Map, Value as Json, json};

use super::super::example;
use super::super::jobs::JobStep;
use super::super::operation::{Action, Operation};
use super::entity::reference;
use super::{bulk, token};

const JSON: &str = "application/json";
const PATCH: &str = "application/merge-patch+json";

/// What an operation takes as its body.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) media_types: Vec<&'static str>,
    pub(crate) is_required: bool,
    pub(crate) schema: Json,
    pub(crate) example: Option<Json>,
}

/// The body of an operation, if it takes one.
pub(super) fn body(model: &Model, operation: &Operation) -> Option<Body> {
    let entity = |id: &EntityId| model.entity(*id);
    let of_entity = |id: &EntityId, part: &str, example: Json| {
        Body::json(reference(entity(id), part), Some(example))
    };
    match &operation.action {
        Action::Create(id) => Some(of_entity(id, ".create", example::example(model, entity(id)))),
        Action::Replace(id) => {
            let mut example = example::example(model, entity(id));
            example.as_object_mut().map(|members| members.remove("id"));
            Some(of_entity(id, ".replace", example))
        }
        Action::Change(id) => {
            let body = of_entity(id, ".patch", first_field(model, entity(id)));
            Some(Body { media_types: vec![JSON, PATCH], ..body })
        }
        Action::Batch => Some(Body::json(bulk::batch(model), bulk::batch_example(model))),
        Action::Transaction => {
            Some(Body::json(bulk::transaction(model), bulk::transaction_example(model)))
        }
        Action::CreateToken => {
            let example = json!({ "name": "the shop's till", "role": "writer" });
            Some(Body::json(token::request(), Some(example)))
        }
        Action::Job(_, JobStep::Reschedule) => {
            let schema = json!({
                "type": "object",
                "properties": { "due": { "type": "string", "format": "date-time" } },
                "required": ["due"],
                "additionalProperties": false,
            });
            Some(Body::json(schema, Some(json!({ "due": "2030-01-01T00:00:00Z" }))))
        }
        Action::Own(..) if operation.method != hyper::Method::GET => {
            Some(Body { is_required: false, ..Body::json(json!({}), None) })
        }
        Action::Own(..)
        | Action::Job(..)
        | Action::Changes(_)
        | Action::Read(_)
        | Action::Delete(_)
        | Action::Children { .. }
        | Action::Ask(_)
        | Action::Values(..)
        | Action::Count(..)
        | Action::Board(..)
        | Action::Ranked(..)
        | Action::ListTokens
        | Action::RevokeToken
        | Action::OpenApi
        | Action::Docs
        | Action::Health
        | Action::Ready
        | Action::Metrics => None,
    }
}

impl Body {
    fn json(schema: Json, example: Option<Json>) -> Body {
        Body { media_types: vec![JSON], is_required: true, schema, example }
    }
}

/// One field of an example, as a patch: one that a person would change, if there is one.
fn first_field(model: &Model, entity: &Entity) -> Json {
    let mut shown = example::shown(model, entity);
    let Some(members) = shown.as_object_mut() else { return shown };
    let is_plain = |(id, field): &(FieldId, &Field)| {
        let is_ref = matches!(field.of, FieldType::Ref(..));
        let is_set =
            field.origin == FieldOrigin::Declared && field.access == FieldAccess::ReadWrite;
        is_set && !is_ref && entity.tenancy != Tenancy::Own(*id)
    };
    let mut fields = entity.fields().filter(is_plain);
    let patch = fields.find_map(|(_, field)| members.remove_entry(&field.name));
    Json::Object(Map::from_iter(patch))
}
