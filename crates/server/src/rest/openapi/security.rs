//! Where a token can be, and in which operations.

use hyper::Method;
use serde_json::{Value as Json, json};

use super::super::operation::Access;
use super::describe::Described;

/// Every place of a token.
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

/// Those in which an operation looks for one; any of them is enough.
pub(super) fn of(one: &Described<'_>) -> Json {
    if one.access == Access::Anybody {
        return json!([]);
    }
    let mut places = vec![json!({ "bearer": [] })];
    if one.operation.method == Method::GET {
        places.push(json!({ "cookie": [] }));
    }
    if one.operation.action.is_stream() {
        places.push(json!({ "access_token": [] }));
    }
    places.into()
}
