//! Headers of requests and responses.

use keyloom_model::FieldType;
use serde_json::{Map, Value as Json, json};

use super::field::{Form, schema};
use super::parameter::{Location, Parameter, Values};

/// A list of entity tags, or `*`.
const TAGS_PATTERN: &str = r#"^(\*|(W/)?"[!#-+\x2d-~]*"( *, *(W/)?"[!#-+\x2d-~]*")*)$"#;

/// The schema of `If-Match` and `If-None-Match`.
pub(crate) fn version_tags() -> Json {
    json!({ "type": "string", "minLength": 1, "pattern": TAGS_PATTERN })
}

/// `If-None-Match` of pages that do not change while the server runs.
pub(crate) fn if_changed() -> Parameter {
    let about = "Return it only if it differs from the one with this `ETag`.";
    header("If-None-Match", about, json!({ "type": "string" }))
}

pub(crate) fn if_match() -> Parameter {
    header(
        "If-Match",
        "Apply the change only if the entity has this version: an `ETag`, or `*`.",
        version_tags(),
    )
}

pub(super) fn idempotency_key() -> Parameter {
    let about = "A unique text that you choose for each change: if the request is sent again with \
                 the same key, the change is applied once.";
    let schema = json!({
        "type": "string", "minLength": 1, "maxLength": 200,
        "pattern": "^[!-~]+$",
    });
    header("Idempotency-Key", about, schema)
}

pub(super) fn tenant(of: &FieldType) -> Parameter {
    let about = "The tenant; not needed with a token that is limited to one tenant.";
    header("Keyloom-Tenant", about, schema(of, Form::Given))
}

pub(crate) fn header(name: &str, about: &str, schema: Json) -> Parameter {
    let (name, about, location) = (name.to_owned(), about.to_owned(), Location::Header);
    Parameter { name, location, is_required: false, about, schema, values: Values::Repeated }
}

/// A header of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerHeader {
    RequestId,
    ETag,
    Location,
    Replayed,
    RetryAfter,
    Authenticate,
}

impl AnswerHeader {
    pub(super) const ALL: [AnswerHeader; 6] = [
        AnswerHeader::RequestId,
        AnswerHeader::ETag,
        AnswerHeader::Location,
        AnswerHeader::Replayed,
        AnswerHeader::RetryAfter,
        AnswerHeader::Authenticate,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            AnswerHeader::RequestId => "x-request-id",
            AnswerHeader::ETag => "ETag",
            AnswerHeader::Location => "Location",
            AnswerHeader::Replayed => "Idempotency-Replayed",
            AnswerHeader::RetryAfter => "Retry-After",
            AnswerHeader::Authenticate => "WWW-Authenticate",
        }
    }

    pub(super) fn to_json(self) -> Json {
        let (about, schema) = match self {
            AnswerHeader::RequestId => (
                "The id of the request, as in the server's log: the one sent in the same header, \
                 or a new one.",
                json!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$" }),
            ),
            AnswerHeader::ETag => {
                ("The version, in quotes.", json!({ "type": "string", "pattern": "^\"[^\"]*\"$" }))
            }
            AnswerHeader::Location => (
                "The path of the new entity or operation.",
                json!({ "type": "string", "format": "uri-reference" }),
            ),
            AnswerHeader::Replayed => (
                "Set if a request with the same `Idempotency-Key` was answered before.",
                json!({ "type": "string", "const": "true" }),
            ),
            AnswerHeader::RetryAfter => {
                ("When to retry, in seconds.", json!({ "type": "integer" }))
            }
            AnswerHeader::Authenticate => {
                ("How to authenticate.", json!({ "type": "string", "const": "Bearer" }))
            }
        };
        // These two are sent in some responses only.
        let is_required = self != AnswerHeader::Replayed && self != AnswerHeader::RetryAfter;
        json!({ "description": about, "required": is_required, "schema": schema })
    }
}

/// References to headers, by their names.
pub(super) fn header_references(headers: &[AnswerHeader]) -> Map<String, Json> {
    let header = |header: &AnswerHeader| {
        let name = header.name();
        (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }))
    };
    headers.iter().map(header).collect()
}
