//! Bulk operations as JSON Schema.

use serde_json::{Value as Json, json};

use super::component::component;

/// The schema of a page of bulk operations.
pub(crate) fn bulk_operations() -> Json {
    json!({
        "type": "object",
        "properties": {
            "items": { "type": "array", "items": component("BulkOperation") },
            "next": { "type": "string", "description": "The cursor of the next page." },
        },
        "required": ["items"], "additionalProperties": false,
    })
}

/// The schema of a bulk operation.
pub(super) fn bulk_operation_schema() -> Json {
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let text = || json!({ "type": "string" });
    let time = || json!({ "type": "string", "format": "date-time" });
    let failure = json!({
        "type": "object", "properties": { "id": text(), "problem": text() },
        "required": ["id", "problem"], "additionalProperties": false,
    });
    let states = ["collecting", "running", "done", "canceled", "failed"];
    let failures = "The first 20 of the entities that could not be changed.";
    json!({
        "type": "object",
        "properties": {
            "id": text(),
            "kind": { "type": "string", "enum": ["update", "delete"] },
            "entity": { "type": "string", "description": "The kind of entity." },
            "state": { "type": "string", "enum": states },
            "matched": count("The entities that were found; so far, while it is `collecting`."),
            "changed": count("Those that were changed or deleted."),
            "unchanged": count("Those that had the values of the patch already."),
            "skipped": count("Those that did not match any more when they were reached."),
            "failed": count("Those that could not be changed."),
            "failures": { "type": "array", "items": failure, "description": failures },
            "problem": { "type": "string", "description": "Why the operation has failed." },
            "started": time(),
            "ended": time(),
        },
        "required": ["id", "kind", "entity", "state", "matched", "changed", "unchanged", "skipped",
                     "failed", "failures", "started"],
        "additionalProperties": false,
    })
}
