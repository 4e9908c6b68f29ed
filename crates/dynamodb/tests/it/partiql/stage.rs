//! Tables to run statements on.

use crate::service::{Service, error_of};

/// A service with a table `t` (key `pk`, `sk`, both strings), a table `h` (key `pk`, a string) and a
/// table `n` (key `pk`, a number).
pub(super) fn service() -> Service {
    let service = Service::new();
    for (name, key_type, sort) in [("ttt", "S", true), ("hhh", "S", false), ("nnn", "N", false)] {
        let mut attributes = format!(r#"{{"AttributeName":"pk","AttributeType":"{key_type}"}}"#);
        let mut schema = r#"{"AttributeName":"pk","KeyType":"HASH"}"#.to_owned();
        if sort {
            attributes.push_str(r#",{"AttributeName":"sk","AttributeType":"S"}"#);
            schema.push_str(r#",{"AttributeName":"sk","KeyType":"RANGE"}"#);
        }
        let body = format!(
            r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST",
            "AttributeDefinitions":[{attributes}],"KeySchema":[{schema}]}}"#
        );
        service.ok("CreateTable", &body);
    }
    service
}

/// Puts an item, given as the members of its JSON.
pub(super) fn put(service: &Service, table: &str, members: &str) {
    let body = format!(r#"{{"TableName":"{table}","Item":{{{members}}}}}"#);
    service.ok("PutItem", &body);
}

/// Returns the item with the key, or nothing.
pub(super) fn get(service: &Service, table: &str, key: &str) -> String {
    let body = format!(r#"{{"TableName":"{table}","Key":{{{key}}}}}"#);
    let reply = service.ok("GetItem", &body);
    let item = reply.strip_prefix(r#"{"Item":"#).and_then(|rest| rest.strip_suffix('}'));
    item.unwrap_or_default().to_owned()
}

/// Runs a statement; returns its items, or `!` with the error.
pub(super) fn run(service: &Service, statement: &str) -> String {
    run_with(service, statement, "")
}

/// Runs a statement with more members, such as parameters.
pub(super) fn run_with(service: &Service, statement: &str, more: &str) -> String {
    let body = format!(r#"{{"Statement":{}{more}}}"#, text(statement));
    outcome(service, "ExecuteStatement", &body, r#"{"Items":"#)
}

/// Runs a request; returns its response without the given beginning and the last brace.
pub(super) fn outcome(service: &Service, operation: &str, body: &str, start: &str) -> String {
    let reply = service.call(operation, body);
    if reply.status != 200 {
        return format!("!{}", error_of(&reply.body));
    }
    let inner = reply.body.strip_prefix(start).and_then(|rest| rest.strip_suffix('}'));
    inner.unwrap_or(&reply.body).to_owned()
}

/// Asserts the outcomes of statements, one after the other.
pub(super) fn check(service: &Service, cases: &[(&str, &str)]) {
    for (statement, expected) in cases {
        assert_eq!(run(service, statement), *expected, "{statement}");
    }
}

/// Runs a batch or transaction of statements.
pub(super) fn run_all(service: &Service, operation: &str, statements: &[&str]) -> String {
    let list = if operation == "ExecuteTransaction" { "TransactStatements" } else { "Statements" };
    let members: Vec<String> =
        statements.iter().map(|it| format!(r#"{{"Statement":{}}}"#, text(it))).collect();
    let body = format!(r#"{{"{list}":[{}]}}"#, members.join(","));
    outcome(service, operation, &body, r#"{"Responses":"#)
}

/// Writes a JSON string.
pub(super) fn text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
