//! PartiQL statements: any text, alone, in a batch and in a transaction.

use std::sync::Arc;

use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_store::{MemoryStore, SystemClock};
use pollster::block_on;
use serde_json::{Value, json};

/// More pages than any statement can have on the few items that are stored: one for each key of an `IN`,
/// and one for each item.
const PAGES_MAX: usize = 500;

/// Answers a request as JSON, or nothing if it was refused.
fn call(endpoint: &Endpoint, operation: &str, body: &Value) -> Option<Value> {
    let (target, body) = (format!("DynamoDB_20120810.{operation}"), body.to_string());
    let reply = block_on(endpoint.call(&target, body.as_bytes()));
    assert!(matches!(reply.status, 200 | 400), "{} {}", reply.status, reply.body);
    assert!(!reply.body.contains("InternalServerError"), "{}", reply.body);
    let answer = serde_json::from_str(&reply.body).expect("a response is JSON");
    (reply.status == 200).then_some(answer)
}

fn staged() -> Endpoint {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let endpoint = Endpoint::new(store, EndpointOptions::default());
    let attribute = |name, kind| json!({"AttributeName": name, "AttributeType": kind});
    let key = |name, kind| json!({"AttributeName": name, "KeyType": kind});
    let table = json!({
        "TableName": "tab",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [attribute("p", "S"), attribute("q", "N")],
        "KeySchema": [key("p", "HASH"), key("q", "RANGE")],
        "GlobalSecondaryIndexes": [{
            "IndexName": "idx",
            "KeySchema": [key("q", "HASH")],
            "Projection": {"ProjectionType": "ALL"},
        }],
    });
    assert!(call(&endpoint, "CreateTable", &table).is_some());
    for (p, q, x) in
        [("a", "1", json!({"N": "1"})), ("a", "2", json!({"S": "x"})), ("b", "1", json!({"L": []}))]
    {
        let item = json!({"p": {"S": p}, "q": {"N": q}, "x": x});
        assert!(call(&endpoint, "PutItem", &json!({"TableName": "tab", "Item": item})).is_some());
    }
    endpoint
}

/// Every statement gets a response other than an internal error. A SELECT changes nothing, and its pages
/// of one item together are its answer.
pub fn statements(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let endpoint = staged();
    // As many parameters as there are question marks, some of which may be within quotes.
    let count = text.matches('?').count().min(100);
    let values = [json!({"S": "a"}), json!({"N": "1"}), json!({"L": [{"NULL": true}]})];
    let parameters: Vec<&Value> = values.iter().cycle().take(count).collect();
    let with = |more: Value| {
        let mut body = json!({"Statement": text});
        if count > 0 {
            body["Parameters"] = json!(parameters);
        }
        body.as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        body
    };
    let scan = || call(&endpoint, "Scan", &json!({"TableName": "tab"}));
    let before = scan();
    let answer = call(&endpoint, "ExecuteStatement", &with(json!({})));
    let word = text.trim_start().get(..6).unwrap_or_default().to_ascii_uppercase();
    if let Some(answer) = answer.filter(|_| word == "SELECT") {
        assert_eq!(scan(), before, "{text}");
        assert_eq!(paged(&endpoint, &with), answer["Items"], "{text}");
    }
    call(&endpoint, "BatchExecuteStatement", &json!({"Statements": [with(json!({}))]}));
    call(&endpoint, "ExecuteTransaction", &json!({"TransactStatements": [with(json!({}))]}));
}

/// Reads all pages of one item.
fn paged(endpoint: &Endpoint, with: &dyn Fn(Value) -> Value) -> Value {
    let (mut items, mut more) = (Vec::new(), json!({"Limit": 1}));
    for _ in 0..PAGES_MAX {
        let page = call(endpoint, "ExecuteStatement", &with(more.clone()));
        let page = page.expect("what is answered at once is answered in pages");
        items.extend(page["Items"].as_array().cloned().unwrap_or_default());
        match page.get("NextToken") {
            Some(token) => more["NextToken"] = token.clone(),
            None => return Value::Array(items),
        }
    }
    panic!("the pages do not end");
}
