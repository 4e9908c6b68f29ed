//! Results of a verification as JSON Schema.

use serde_json::{Value as Json, json};

/// The schema of a part of a verification.
pub(crate) fn verified_part() -> Json {
    let finding = json!({
        "type": "object",
        "properties": {
            "entity": { "type": "string", "description": "The kind of entity; empty if it is of none." },
            "id": { "type": "string", "description": "The id of the entity; empty if it is of none." },
            "problem": { "type": "string", "description": "What is wrong, and what to do." },
        },
        "required": ["entity", "id", "problem"], "additionalProperties": false,
    });
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let unverified = "What this operation does not verify: `counters`, if the model has any.";
    json!({
        "type": "object",
        "properties": {
            "findings": { "type": "array", "items": finding },
            "rows": count("Rows verified so far."),
            "rows_total": count("Approximate number of rows."),
            "next": { "type": "string", "description": "The position of the next part; absent at the end." },
            "unverified": {
                "type": "array", "items": { "type": "string", "const": "counters" },
                "description": unverified,
            },
        },
        "required": ["findings", "rows", "rows_total", "unverified"], "additionalProperties": false,
    })
}
