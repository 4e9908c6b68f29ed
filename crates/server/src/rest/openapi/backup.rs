//! Backups as JSON Schema.

use serde_json::{Value as Json, json};

use super::component::component;

/// The schema of the backups of a server.
pub(crate) fn backup_list() -> Json {
    let kept = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "bytes": { "type": "integer", "minimum": 0 },
        },
        "required": ["name", "bytes"], "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "items": { "type": "array", "items": kept },
            "latest": component("Backup"),
        },
        "required": ["items"], "additionalProperties": false,
    })
}

/// The schema of a backup that was started.
pub(super) fn backup_schema() -> Json {
    let problem = "Why the backup has failed.";
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "The name of its directory." },
            "state": { "type": "string", "enum": ["running", "done", "failed"] },
            "rows": { "type": "integer", "minimum": 0, "description": "Rows copied so far." },
            "started": { "type": "string", "format": "date-time" },
            "problem": { "type": "string", "description": problem },
        },
        "required": ["name", "state", "rows", "started"], "additionalProperties": false,
    })
}
