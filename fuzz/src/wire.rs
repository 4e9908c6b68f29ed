//! The DynamoDB endpoint: arbitrary bodies of all operations, and round trips of items.

use std::sync::Arc;

use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_store::{MemoryStore, SystemClock};
use pollster::block_on;

use crate::choice::chosen;

const OPERATIONS: &[&str] = &[
    "PutItem",
    "GetItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactGetItems",
    "TransactWriteItems",
    "CreateTable",
    "UpdateTable",
    "DescribeTable",
    "ListTables",
    "UpdateTimeToLive",
    "TagResource",
    "ExecuteStatement",
    "BatchExecuteStatement",
    "ExecuteTransaction",
];

fn call(endpoint: &Endpoint, operation: &str, body: &[u8]) -> (u16, serde_json::Value) {
    let reply = block_on(endpoint.call(&format!("DynamoDB_20120810.{operation}"), body));
    assert!(matches!(reply.status, 200 | 400), "{} {}", reply.status, reply.body);
    let body = serde_json::from_str(&reply.body).expect("a response is JSON");
    (reply.status, body)
}

/// Every body gets a response other than an internal error. An accepted item can be read back, and is
/// accepted again as the same item.
pub fn wire(input: &[u8]) {
    let Some((choice, body)) = chosen(input) else { return };
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let endpoint = Endpoint::new(store, EndpointOptions::default());
    let table = br#"{"TableName":"tab","KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],
        "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],
        "BillingMode":"PAY_PER_REQUEST"}"#;
    assert_eq!(call(&endpoint, "CreateTable", table).0, 200);
    if let Some(operation) = OPERATIONS.get(usize::from(choice)) {
        call(&endpoint, operation, body);
        return;
    }
    let Ok(item) = std::str::from_utf8(body) else { return };
    let put = |item: &str| {
        let body = format!(r#"{{"TableName":"tab","Item":{item}}}"#);
        call(&endpoint, "PutItem", body.as_bytes()).0
    };
    if put(item) == 200 {
        let scan = || call(&endpoint, "Scan", br#"{"TableName":"tab"}"#).1["Items"].clone();
        let items = scan();
        assert_eq!(items.as_array().map(Vec::len), Some(1));
        assert_eq!(put(&items[0].to_string()), 200, "{items}");
        assert_eq!(scan(), items);
    }
}
