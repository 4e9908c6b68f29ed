//! Where what was just created leads: operations that take its id, as OpenAPI's links.

use keyloom_model::EntityId;
use serde_json::{Map, Value as Json, json};

use super::describe::Described;

/// The id of what was created.
const ID: &str = "$response.body#/id";

/// The links from an answer that has just created an entity.
pub(super) fn links(created: EntityId, described: &[Described<'_>]) -> Map<String, Json> {
    let link = |one: &Described<'_>| {
        let taken = one.ids.iter().find(|taken| taken.of == created)?;
        let name = &one.operation.name;
        let link =
            json!({ taken.place: { taken.name.as_str(): ID }, "operationId": name.as_str() });
        Some((name.clone(), link))
    };
    described.iter().filter_map(link).collect()
}
