//! Schemas that operations share. Each is a component of its own, so that generators make one type of it.

use serde_json::{Map, Value as Json, json};

use super::backup::backup_schema;
use super::bulk::bulk_operation_schema;
use super::cost::{plan_step, read_cost, write_cost};
use super::problem_schema::{field_error, problem};
use super::{entity, field};

/// Begins every reference to a component.
const COMPONENTS: &str = "#/components/";

/// A reference to a schema.
pub(crate) fn component(name: &str) -> Json {
    json!({ "$ref": format!("{COMPONENTS}schemas/{name}") })
}

/// The schemas that do not depend on a model. Their names begin with a capital, those of entities do not.
pub(super) fn shared() -> [(String, Json); 9] {
    [
        ("Anything", field::anything()),
        ("Backup", backup_schema()),
        ("BulkOperation", bulk_operation_schema()),
        ("FieldError", field_error()),
        ("Named", entity::name_of_entity()),
        ("PlanStep", plan_step()),
        ("Problem", problem()),
        ("ReadCost", read_cost()),
        ("WriteCost", write_cost()),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
}

/// Removes components that nothing refers to, from the paths or from another component.
pub(super) fn remove_unused(components: &mut Json, paths: &Map<String, Json>) {
    let mut used = vec![];
    paths.values().for_each(|path| references(path, &mut used));
    let mut next = 0;
    while let Some(name) = used.get(next).cloned() {
        references(&components[name.0][name.1], &mut used);
        next += 1;
    }
    for kind in ["schemas", "responses", "headers"] {
        if let Some(all) = components[kind].as_object_mut() {
            all.retain(|name, _| used.iter().any(|one| one.0 == kind && one.1 == *name));
        }
    }
}

/// Adds the components that a part of the document refers to, each once: their kind and their name.
fn references(part: &Json, found: &mut Vec<(String, String)>) {
    match part {
        Json::Object(members) => {
            let to = members.get("$ref").and_then(Json::as_str);
            let name = to.and_then(|to| to.strip_prefix(COMPONENTS)?.split_once('/'));
            let name = name.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
            found.extend(name.filter(|name| !found.contains(name)));
            members.values().for_each(|member| references(member, found));
        }
        Json::Array(items) => items.iter().for_each(|item| references(item, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}
