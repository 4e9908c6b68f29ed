//! Example requests that a server prints when it starts.

use keyloom_model::{Entity, EntityId, FieldOrigin, FieldType, Model, Presence};

use super::example::example;
use super::operation::Operation;
use super::segment::Segment;

/// Example requests for a shell. `URL` is a placeholder for the URL of the server.
pub(crate) fn greeting(model: &Model, operations: &[Operation], is_open: bool) -> String {
    let entities: Vec<(EntityId, &Entity)> = model.entities().collect();
    // An entity that refers to nothing can be created first.
    let stands_alone = |(_, entity): &&(EntityId, &Entity)| !needs_others(entity);
    let first = entities.iter().find(stands_alone).or(entities.first());
    let Some((id, entity)) = first else { return String::new() };
    let token = if is_open { "" } else { " -H 'Authorization: Bearer TOKEN'" };
    let tenant = if entity.has_tenant() { " -H 'Keyloom-Tenant: acme'" } else { "" };
    let headers = format!("{token}{tenant}");
    let document = example(model, entity).to_string().replace('\'', "'\\''");
    let mut lines = vec![
        "\nOpen URL/ in a browser, or try:".to_owned(),
        format!("  curl URL{}{headers} --json '{document}'", entity.path),
    ];
    let is_list = |operation: &&Operation| {
        let has_parameters = operation.path.iter().any(|s| matches!(s, Segment::Parameter(_)));
        let queries = operation.action.lists().filter(|queries| queries.entity == *id);
        let takes_nothing = queries.is_some_and(|queries| {
            queries.lists.iter().any(|list| entity.list(*list).by.is_empty())
        });
        takes_nothing && !has_parameters
    };
    if let Some(list) = operations.iter().find(is_list) {
        lines.push(format!("  curl URL{}{headers}", list.path_text()));
    }
    lines.push("API reference: URL/docs".to_owned());
    lines.join("\n")
}

fn needs_others(entity: &Entity) -> bool {
    entity.fields.iter().any(|field| {
        let is_needed = field.presence == Presence::Required && field.default.is_none();
        field.origin == FieldOrigin::Parent || (is_needed && matches!(field.of, FieldType::Ref(..)))
    })
}
