//! Problems as JSON Schema, and the responses that have them.

use serde_json::{Map, Value as Json, json};

use super::super::problem::Kind;
use super::component::component;
use super::headers::{AnswerHeader, header_references};

/// The schema of every problem.
pub(super) fn problem() -> Json {
    let mut statuses: Vec<u16> = Kind::ALL.iter().map(|kind| kind.status()).collect();
    statuses.dedup();
    let codes: Vec<&str> = Kind::ALL.iter().map(|kind| kind.code()).collect();
    let about = "Identifies the problem for programs.";
    let errors = json!({
        "type": "array", "items": component("FieldError"), "description": "Every invalid field.",
    });
    json!({
        "type": "object",
        "description": "Why a request failed, as RFC 9457 defines it.",
        "properties": {
            "type": text("`urn:keyloom:problem:` and the code."),
            "title": text("What the code means."),
            "status": { "type": "integer", "enum": statuses, "description": "The HTTP status." },
            "code": { "type": "string", "enum": codes, "description": about },
            "detail": text("What is wrong and how to fix it, for people."),
            "errors": errors,
            "request_id": text("Same as `x-request-id`."),
        },
        "required": ["type", "title", "status", "code", "detail", "request_id"],
        "additionalProperties": false,
    })
}

/// The schema of a problem with one field.
pub(super) fn field_error() -> Json {
    json!({
        "type": "object",
        "properties": {
            "field": text("The field, as in `address.lines[2]`."),
            "detail": text("What is wrong and how to fix it."),
        },
        "required": ["field", "detail"], "additionalProperties": false,
    })
}

/// One response for each status that problems have.
pub(super) fn problem_responses() -> Map<String, Json> {
    let mut responses = Map::new();
    for kind in Kind::ALL {
        let of_status = || Kind::ALL.iter().filter(|other| other.status() == kind.status());
        let meanings: Vec<String> =
            of_status().map(|kind| format!("`{}`: {}", kind.code(), kind.title())).collect();
        let headers: Vec<AnswerHeader> = [AnswerHeader::RequestId]
            .into_iter()
            .chain(of_status().filter_map(|kind| own_header(*kind)))
            .collect();
        let content = json!({ "application/problem+json": { "schema": component("Problem") } });
        let response = json!({
            "description": meanings.join(" "), "headers": header_references(&headers),
            "content": content,
        });
        responses.insert(problem_name(kind.status()), response);
    }
    responses
}

/// The name of the response of a status.
pub(super) fn problem_name(status: u16) -> String {
    format!("Problem{status}")
}

/// The header that responses with a problem have besides those of all responses.
fn own_header(kind: Kind) -> Option<AnswerHeader> {
    match kind {
        Kind::Unauthorized => Some(AnswerHeader::Authenticate),
        Kind::Busy | Kind::Building | Kind::WritesRefused => Some(AnswerHeader::RetryAfter),
        _ => None,
    }
}

fn text(about: &str) -> Json {
    json!({ "type": "string", "description": about })
}
