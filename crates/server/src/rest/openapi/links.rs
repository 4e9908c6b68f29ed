//! OpenAPI links from a response that creates an entity to the operations that take its id.

use keyloom_model::EntityId;
use serde_json::{Map, Value as Json, json};

use super::describe::Described;

/// The id of the created entity.
const ID: &str = "$response.body#/id";

/// The links of a response that creates an entity.
pub(super) fn links(created: EntityId, described: &[Described<'_>]) -> Map<String, Json> {
    let link = |one: &Described<'_>| {
        let taken = one.ids.iter().find(|taken| taken.of == created)?;
        let name = &one.operation.name;
        let link =
            json!({ taken.location: { taken.name.as_str(): ID }, "operationId": name.as_str() });
        Some((name.clone(), link))
    };
    described.iter().filter_map(link).collect()
}
