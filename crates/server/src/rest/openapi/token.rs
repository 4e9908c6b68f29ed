//! Tokens as JSON Schema.

use serde_json::{Map, Value as Json, json};

use super::super::role::Role;
use super::field::{or_null, with};

/// The schema of a request for a token.
pub(crate) fn token_request() -> Json {
    let name_or_null = || or_null(json!({ "type": "string", "minLength": 1, "maxLength": 256 }));
    let name = or_null(json!({ "type": "string", "maxLength": 256 }));
    let roles = Role::ALL.map(Role::name);
    let expires = json!({
        "type": ["string", "null"], "format": "date-time", "minLength": 1, "maxLength": 256,
    });
    let mut schema = json!({
        "type": "object",
        "properties": {
            "role": { "type": "string", "enum": roles, "description": "Each role includes the permissions of \
                      the ones before it. A user may do what the access rules of the model allow." },
            "subject": with(name_or_null(), "description", "The user that the token is of, if its role is `user`."),
            "roles": {
                "type": ["array", "null"], "maxItems": 50, "uniqueItems": true,
                "items": { "type": "string", "minLength": 1, "maxLength": 60 },
                "description": "The roles of the user, as access rules of the model name them.",
            },
            "tenant": with(name_or_null(), "description", "The tenant that the token is limited to; all tenants if omitted."),
            "name": with(name, "description", "The purpose of the token."),
            "expires": with(expires, "description", "When the token expires."),
        },
        "required": ["role"], "additionalProperties": false,
    });
    // An admin can create tokens of any tenant, so it cannot be limited to one. Users have a subject, and
    // only they have roles.
    let text = || json!({ "type": "string" });
    let is = |roles: &[&str]| json!({ "type": "string", "enum": roles });
    let others = ["reader", "writer", "admin"];
    let some_roles = json!({ "type": "array", "minItems": 1, "items": text() });
    schema["not"] = json!({ "anyOf": [
        refused(json!({ "role": is(&["admin"]), "tenant": text() }), &["role", "tenant"]),
        refused(json!({ "role": is(&["user"]), "subject": { "type": "null" } }), &["role"]),
        refused(json!({ "role": is(&others), "subject": text() }), &["role", "subject"]),
        refused(json!({ "role": is(&others), "roles": some_roles }), &["role", "roles"]),
    ] });
    schema
}

/// An object with these members, and any others.
fn refused(properties: Json, required: &[&str]) -> Json {
    json!({ "type": "object", "properties": properties, "required": required })
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
        ("role".to_owned(), json!({ "type": "string", "enum": Role::ALL.map(Role::name) })),
        ("subject".to_owned(), json!({ "type": "string" })),
        ("roles".to_owned(), json!({ "type": "array", "items": { "type": "string" } })),
        ("tenant".to_owned(), json!({ "type": "string" })),
        ("created".to_owned(), time()),
        ("expires".to_owned(), time()),
    ])
}

fn object(properties: Map<String, Json>, required: &[&str]) -> Json {
    json!({ "type": "object", "properties": properties, "required": required,
            "additionalProperties": false })
}
