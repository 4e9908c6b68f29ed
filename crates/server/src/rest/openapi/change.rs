//! Pages of changes as JSON Schema.

use serde_json::{Value as Json, json};

/// The schema of a page of changes.
pub(crate) fn change_page() -> Json {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let image = |about: &str| json!({ "type": ["object", "null"], "description": about });
    let change = json!({
        "type": "object",
        "properties": {
            "entity": text("The kind of entity."),
            "id": text("Its id."),
            "tenant": { "description": "Its tenant, or `null`." },
            "change": { "type": "string", "enum": ["insert", "update", "delete"] },
            "old": image("The entity before; `null` if it was created."),
            "new": image("The entity after; `null` if it was deleted."),
            "position": text("The position of the change."),
            "time": { "type": "string", "format": "date-time" },
        },
        "required": ["entity", "id", "tenant", "change", "old", "new", "position", "time"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "items": { "type": "array", "items": change },
            "next": text("The position to continue after."),
            "more": { "type": "boolean", "description": "Whether there may be more now." },
        },
        "required": ["items", "next", "more"], "additionalProperties": false,
    })
}
