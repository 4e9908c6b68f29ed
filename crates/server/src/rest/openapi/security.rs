//! The security schemes: where a token can be sent, and in which operations.

use hyper::Method;
use serde_json::{Value as Json, json};

use super::super::operation::Access;
use super::describe::Described;

/// All security schemes.
pub(super) fn schemes() -> Json {
    json!({
        "bearer": {
            "type": "http", "scheme": "bearer",
            "description": "A token created with `keyloom token create` or `POST /tokens`.",
        },
        "cookie": {
            "type": "apiKey", "in": "cookie", "name": "keyloom_token",
            "description": "The token in a cookie; accepted for requests that change nothing.",
        },
        "access_token": {
            "type": "apiKey", "in": "query", "name": "access_token",
            "description": "The token in the URL, for clients that cannot send headers.",
        },
    })
}

/// The schemes that an operation accepts.
pub(super) fn of(one: &Described<'_>) -> Json {
    if one.access == Access::Public {
        return json!([]);
    }
    let mut schemes = vec![json!({ "bearer": [] })];
    if one.operation.method == Method::GET {
        schemes.push(json!({ "cookie": [] }));
    }
    if one.operation.action.is_stream() {
        schemes.push(json!({ "access_token": [] }));
    }
    schemes.into()
}
