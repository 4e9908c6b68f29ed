//! The same random request as an operation with expressions and as a statement: the same answer, and
//! the same items afterwards.

mod operation;
mod request;
mod statement;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::service::{Service, error_of};

use operation::operation;
use request::request;
use statement::statement;

/// An answer without what the languages say differently: items or images, or an error.
#[derive(Debug, PartialEq)]
enum Answer {
    Items(Vec<serde_json::Value>),
    Error(String),
    /// One for each request of a batch.
    Each(Vec<Answer>),
}

/// A service with a table whose items can be in a global and a local index.
fn service() -> Service {
    let service = Service::new();
    let attributes = ["pk", "sk", "gk", "lk"]
        .map(|name| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#));
    let key = |partition: &str, sort: &str| {
        let part = |name, kind| format!(r#"{{"AttributeName":"{name}","KeyType":"{kind}"}}"#);
        format!(r#""KeySchema":[{},{}]"#, part(partition, "HASH"), part(sort, "RANGE"))
    };
    let index = |name: &str, key: String| {
        format!(r#"{{"IndexName":"{name}",{key},"Projection":{{"ProjectionType":"ALL"}}}}"#)
    };
    let body = format!(
        r#"{{"TableName":"ttt","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{}],{},
        "GlobalSecondaryIndexes":[{}],"LocalSecondaryIndexes":[{}]}}"#,
        attributes.join(","),
        key("pk", "sk"),
        index("by_gk", key("gk", "lk")),
        index("by_lk", key("pk", "lk")),
    );
    service.ok("CreateTable", &body);
    service
}

/// Removes empty pages at the end: a statement that reads one item knows that nothing follows.
fn without_end(mut pages: Vec<serde_json::Value>) -> Vec<serde_json::Value> {
    while pages.last().is_some_and(|page| page.as_array().is_some_and(Vec::is_empty)) {
        pages.pop();
    }
    pages
}

/// An error without the name of an expression, and without the code of a duplicate.
fn plain(body: &str) -> String {
    plain_error(&error_of(body))
}

/// The same of an error that has been taken out of its body.
fn plain_error(error: &str) -> String {
    let conditional = "ConditionalCheckFailedException: The conditional request failed";
    let error = error
        .replace("DuplicateItemException: Duplicate primary key exists in table", conditional)
        .replace("Duplicate primary key exists in table", "The conditional request failed")
        .replace("DuplicateItem", "ConditionalCheckFailed");
    ["Invalid UpdateExpression: ", "Invalid ConditionExpression: ", "Invalid FilterExpression: "]
        .iter()
        .fold(error, |error, prefix| error.replace(prefix, ""))
}

/// Whether the expressions are too long for the operation, or the statement for its own.
fn is_too_long(answer: &Answer) -> bool {
    match answer {
        Answer::Items(_) => false,
        Answer::Error(why) => why.contains("Expression size has exceeded"),
        Answer::Each(answers) => answers.iter().any(is_too_long),
    }
}

proptest! {
    #[test]
    fn statements_do_what_operations_do(requests in vec(request(), 1..16)) {
        let (left, right) = (service(), service());
        for request in &requests {
            let Some(stated) = statement(&right, request) else { continue };
            let operated = operation(&left, request);
            if is_too_long(&operated) {
                // The states may differ from here on.
                return Ok(());
            }
            prop_assert_eq!(&stated, &operated, "{:?}", request);
            let scan = |service: &Service| service.ok("Scan", r#"{"TableName":"ttt"}"#);
            prop_assert_eq!(scan(&left), scan(&right), "after {:?}", request);
        }
    }
}
