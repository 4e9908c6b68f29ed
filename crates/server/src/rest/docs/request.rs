//! Example requests for a shell.

use hyper::Method;
use serde_json::Value as Json;

use super::super::openapi::{Described, Location};
use super::super::segment::Segment;

/// The URL of the server; the script of the page replaces it.
const ORIGIN: &str = "http://127.0.0.1:8080";

/// The header that all forms of the page share an input for.
pub(super) const TENANT: &str = "Keyloom-Tenant";

/// The curl command for an operation. Placeholders are in capitals.
pub(super) fn curl(one: &Described<'_>) -> String {
    let mut line = "curl".to_owned();
    let method = &one.operation.method;
    let is_implied = *method == Method::GET || (*method == Method::POST && one.body.is_some());
    if !is_implied {
        line.push_str(&format!(" -X {method}"));
    }
    line.push_str(&format!(" {}", quoted(&format!("{ORIGIN}{}", path_and_query(one)))));
    if one.parameters.iter().any(|parameter| parameter.name == TENANT) {
        line.push_str(&format!(" -H '{TENANT}: acme'"));
    }
    if let Some(body) = one.body.as_ref().and_then(|body| body.example.as_ref()) {
        line.push_str(&format!(" --json {}", quoted(&body.to_string())));
    }
    line
}

/// Formats JSON with indentation.
pub(super) fn pretty(value: &Json) -> String {
    format!("{value:#}")
}

fn path_and_query(one: &Described<'_>) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Text(text) => format!("/{text}"),
        Segment::Parameter(name) => format!("/{}", name.to_uppercase()),
    };
    let path: String = one.operation.path.iter().map(segment).collect();
    let needed =
        one.parameters.iter().filter(|it| it.location == Location::Query && it.is_required);
    let needed: Vec<String> =
        needed.map(|it| format!("{}={}", it.name, it.name.to_uppercase())).collect();
    if needed.is_empty() { path } else { format!("{path}?{}", needed.join("&")) }
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/:.-_".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
