//! The OpenAPI documents of the applications equal the files in `tests/openapi` (`KEYLOOM_BLESS=1`
//! rewrites them, review the diff); and the reference page. `tests/judges/openapi.rs` runs validators
//! and generators on the same files.

use serde_json::Value;

use crate::process::{Served, assert_written, fresh};

const APPS: [&str; 4] = ["tasks", "comments", "kitchen", "oncall"];

#[test]
fn the_documents_of_the_applications_are_as_recorded() {
    for app in APPS {
        let served = Served::app(app, fresh(&format!("openapi-{app}")));
        let (head, document) = served.get("/openapi.json", "");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert_written(&format!("tests/openapi/{app}.json"), &document);
    }
}

#[test]
fn the_reference_page_has_every_operation_and_no_external_resources() {
    let served = Served::app("oncall", fresh("openapi-docs"));
    let (head, page) = served.get("/docs", "");
    assert!(head.contains("content-security-policy: default-src 'none';"), "{head}");
    let document: Value = serde_json::from_str(&served.get("/openapi.json", "").1).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|path| path.as_object().unwrap().values());
    for operation in operations {
        let id = operation["operationId"].as_str().unwrap();
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    let codes = document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"].clone();
    for code in codes.as_array().unwrap() {
        assert!(page.contains(&format!("id=\"problem-{}\"", code.as_str().unwrap())), "{code}");
    }
    for outside in ["src=", "@import", "url(", "href=\"http", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let (head, body) = served.get("/docs", &format!("If-None-Match: {tag}\r\n"));
    assert!(head.starts_with("HTTP/1.1 304") && body.is_empty(), "{head}");
}
