//! What `with` adds to an entity, as JSON Schema. Related entities are references to their own schemas, which
//! can have a `with` in turn: the schemas of a model refer to each other, and contain no other.

use keyloom_model::{EntityId, Model, Related};
use serde_json::{Map, Value as Json, json};

use super::count::CountSchema;
use super::entity::{reference, shown_or_part};
use super::field::with;

/// The schema of the member `with` of an entity, and its name; none if nothing is related to the entity.
pub(super) fn schema(model: &Model, id: EntityId) -> Option<(String, Json)> {
    let related = model.related(id);
    if related.is_empty() {
        return None;
    }
    let members: Map<String, Json> =
        related.into_iter().map(|(name, related)| (name, member(model, related))).collect();
    let schema = json!({
        "type": "object", "properties": members, "additionalProperties": false,
        "description": "Related entities and counts of them: those that were requested.",
    });
    Some((format!("{}.with", model.entity(id).name), schema))
}

/// The member `with` of an entity.
pub(super) fn with_others(model: &Model, id: EntityId) -> Option<Json> {
    let about = "Related entities and counts of them, if requested.";
    let is_there = !model.related(id).is_empty();
    is_there.then(|| {
        let others = reference(model.entity(id), ".with");
        with(with(others, "readOnly", true), "description", about)
    })
}

fn member(model: &Model, related: Related) -> Json {
    let entity = model.entity(related.entity());
    let name = &entity.name;
    match related {
        Related::Reference(_) => {
            let about = format!("The `{name}`; absent if there is none, or it is not visible.");
            with(shown_or_part(entity), "description", about)
        }
        Related::Children(_) => {
            let about = format!("Its first children of the kind `{name}`.");
            with(reference(entity, ".page"), "description", about)
        }
        Related::List(_, list) => {
            let about = format!("The beginning of the list `{}` of it.", entity.list(list).name);
            with(reference(entity, ".page"), "description", about)
        }
        Related::Count(_, count) => {
            let count = entity.count(count);
            let about = format!("The count `{}` of it.", count.name);
            with(CountSchema { entity, count }.reference(), "description", about)
        }
    }
}
