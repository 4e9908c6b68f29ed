//! Tokens as JSON Schema.

use serde_json::{Map, Value as Json, json};

use super::super::role::Role;
use super::field::{or_null, with};

/// The schema of a request for a token.
pub(crate) fn token_request() -> Json {
    let text = || or_null(json!({ "type": "string", "minLength": 1, "maxLength": 256 }));
    let name = or_null(json!({ "type": "string", "maxLength": 256 }));
    let roles = Role::ALL.map(Role::name);
    let expires = json!({
        "type": ["string", "null"], "format": "date-time", "minLength": 1, "maxLength": 256,
    });
    let mut schema = json!({
        "type": "object",
        "properties": {
            "role": { "enum": roles, "description": "Each role includes the permissions of \
                      the ones before it." },
            "tenant": with(text(), "description", "The tenant that the token is limited to; all tenants if omitted."),
            "name": with(name, "description", "The purpose of the token."),
            "expires": with(expires, "description", "When the token expires."),
        },
        "required": ["role"], "additionalProperties": false,
    });
    // An admin can create tokens of any tenant, so it cannot be limited to one.
    schema["not"] = json!({
        "properties": { "role": { "const": "admin" }, "tenant": { "type": "string" } },
        "required": ["role", "tenant"],
    });
    schema
}

/// The schema of the list of tokens.
pub(crate) fn token_list() -> Json {
    json!({
        "type": "object",
        "properties": { "items": { "type": "array", "items": object(properties(), REQUIRED) } },
        "required": ["items"], "additionalProperties": false,
    })
}

/// The schema of a created token, with the text that is shown once.
pub(crate) fn token_made() -> Json {
    let mut properties = properties();
    let text = json!({ "type": "string", "description": "The bearer token to send." });
    properties.insert("token".to_owned(), text);
    object(properties, &[REQUIRED, &["token"]].concat())
}

const REQUIRED: &[&str] = &["id", "name", "role", "created"];

fn properties() -> Map<String, Json> {
    let time = || json!({ "type": "string", "format": "date-time" });
    Map::from_iter([
        ("id".to_owned(), json!({ "type": "string" })),
        ("name".to_owned(), json!({ "type": "string" })),
        ("role".to_owned(), json!({ "enum": Role::ALL.map(Role::name) })),
        ("tenant".to_owned(), json!({ "type": "string" })),
        ("created".to_owned(), time()),
        ("expires".to_owned(), time()),
    ])
}

fn object(properties: Map<String, Json>, required: &[&str]) -> Json {
    json!({ "type": "object", "properties": properties, "required": required,
            "additionalProperties": false })
}
