//! `KeyConditions`.

use crate::service::Service;

const INVALID: &str = "!ValidationException: One or more parameter values were invalid: ";

fn service() -> Service {
    let service = Service::with_tasks();
    for (id, due) in [("a1", 1), ("a2", 2), ("b1", 3), ("b2", 4)] {
        service.ok("PutItem", &format!(r#"{{"TableName":"tasks","Item":{{"list":{{"S":"x"}},"id":{{"S":"{id}"}},"due":{{"N":"{due}"}},"title":{{"S":"{id}"}}}}}}"#));
    }
    service.ok("PutItem", r#"{"TableName":"tasks","Item":{"list":{"S":"y"},"id":{"S":"a1"}}}"#);
    service
}

fn equals(name: &str, value: &str) -> String {
    format!(r#""{name}":{{"ComparisonOperator":"EQ","AttributeValueList":[{{"S":"{value}"}}]}}"#)
}

fn query(conditions: &str, rest: &str) -> String {
    format!(r#"{{"TableName":"tasks","KeyConditions":{{{conditions}}}{rest}}}"#)
}

/// Returns the ids that a query finds.
fn found(service: &Service, conditions: &str, rest: &str) -> Vec<String> {
    let rest = format!(r#","AttributesToGet":["id"]{rest}"#);
    let body = service.ok("Query", &query(conditions, &rest));
    let (items, _) = body.split_once(r#""Count""#).expect("a page has a count");
    let parts = items.split(r#""id":{"S":""#).skip(1);
    parts.map(|part| part.chars().take_while(|c| *c != '"').collect()).collect()
}

#[test]
fn a_partition_is_read() {
    let service = service();
    assert_eq!(found(&service, &equals("list", "x"), ""), ["a1", "a2", "b1", "b2"]);
    assert_eq!(found(&service, &equals("list", "z"), ""), [""; 0]);
    let backward = r#","ScanIndexForward":false,"Limit":2"#;
    assert_eq!(found(&service, &equals("list", "x"), backward), ["b2", "b1"]);
}

#[test]
fn every_range_of_the_sort_key_is_read() {
    let service = service();
    let cases: [(&str, &str, &[&str]); 7] = [
        ("EQ", r#"{"S":"a2"}"#, &["a2"]),
        ("LT", r#"{"S":"b1"}"#, &["a1", "a2"]),
        ("LE", r#"{"S":"b1"}"#, &["a1", "a2", "b1"]),
        ("GT", r#"{"S":"a2"}"#, &["b1", "b2"]),
        ("GE", r#"{"S":"a2"}"#, &["a2", "b1", "b2"]),
        ("BEGINS_WITH", r#"{"S":"b"}"#, &["b1", "b2"]),
        ("BETWEEN", r#"{"S":"a2"},{"S":"b1"}"#, &["a2", "b1"]),
    ];
    for (operator, arguments, expected) in cases {
        let sort = |name: &str| {
            format!(
                r#"{},"{name}":{{"ComparisonOperator":"{operator}","AttributeValueList":[{arguments}]}}"#,
                equals("list", "x")
            )
        };
        assert_eq!(found(&service, &sort("id"), ""), expected, "{operator}");
        let local = r#","IndexName":"by_title""#;
        assert_eq!(found(&service, &sort("title"), local), expected, "{operator}");
    }
    let due =
        r#""due":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"2"},{"N":"3"}]}"#;
    let conditions = format!("{},{due}", equals("list", "x"));
    assert_eq!(found(&service, &conditions, r#","IndexName":"by_due""#), ["a2", "b1"]);
}

#[test]
fn pages_continue_after_their_last_key() {
    let service = service();
    let page = service.ok("Query", &query(&equals("list", "x"), r#","Limit":3,"Select":"COUNT""#));
    assert_eq!(
        page,
        r#"{"Count":3,"ScannedCount":3,"LastEvaluatedKey":{"id":{"S":"b1"},"list":{"S":"x"}}}"#
    );
    let rest = r#","ExclusiveStartKey":{"id":{"S":"b1"},"list":{"S":"x"}}"#;
    assert_eq!(found(&service, &equals("list", "x"), rest), ["b2"]);
}

/// A table's key has at most two attributes, a global index's up to eight.
#[test]
fn an_index_key_of_several_attributes_is_queried() {
    let service = Service::new();
    service.ok("CreateTable", r#"{"TableName":"many","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"h1","AttributeType":"S"},{"AttributeName":"h2","AttributeType":"S"},{"AttributeName":"r1","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
        "GlobalSecondaryIndexes":[{"IndexName":"all","Projection":{"ProjectionType":"ALL"},
            "KeySchema":[{"AttributeName":"h1","KeyType":"HASH"},{"AttributeName":"h2","KeyType":"HASH"},{"AttributeName":"r1","KeyType":"RANGE"}]}]}"#);
    service.ok("PutItem", r#"{"TableName":"many","Item":{"id":{"S":"1"},"h1":{"S":"a"},"h2":{"S":"b"},"r1":{"S":"c"}}}"#);
    let three = format!("{},{},{}", equals("h1", "a"), equals("h2", "b"), equals("r1", "c"));
    let query = |rest: &str| {
        format!(r#"{{"TableName":"many","KeyConditions":{{{three}}},"Select":"COUNT"{rest}}}"#)
    };
    service.check(&[
        ("Query", &query(r#","IndexName":"all""#), r#"{"Count":1,"ScannedCount":1}"#),
        ("Query", &query(""), "!ValidationException: Conditions can be of length 1 or 2 only"),
    ]);
}

#[test]
fn conditions_that_are_no_range_are_rejected() {
    let list = equals("list", "x");
    let with = |name: &str, operator: &str, arguments: &str| {
        format!(
            r#""{name}":{{"ComparisonOperator":"{operator}","AttributeValueList":[{arguments}]}}"#
        )
    };
    let service = service();
    let refused = |conditions: &str, why: &str| {
        service.check(&[("Query", &query(conditions, ""), why)]);
    };
    refused("", "!ValidationException: Conditions can be of length 1 or 2 only");
    let three = format!("{list},{},{}", equals("id", "1"), equals("other", "1"));
    refused(&three, "!ValidationException: Conditions can be of length 1 or 2 only");
    refused(
        &equals("id", "1"),
        "!ValidationException: Query condition missed key schema element: list",
    );
    refused(
        &format!("{list},{}", equals("other", "1")),
        "!ValidationException: Query condition missed key schema element: id",
    );
    for operator in ["LE", "LT", "GE", "GT", "BEGINS_WITH"] {
        let conditions = with("list", operator, r#"{"S":"x"}"#);
        refused(&conditions, "!ValidationException: Query key condition not supported");
    }
    refused(
        &with("list", "BETWEEN", r#"{"S":"x"},{"S":"x"}"#),
        "!ValidationException: Query key condition not supported",
    );
    refused(
        &with("list", "EQ", r#"{"N":"1"}"#),
        &format!("{INVALID}Condition parameter type does not match schema type"),
    );
    refused(
        &format!("{list},{}", with("id", "GT", r#"{"N":"1"}"#)),
        &format!("{INVALID}Condition parameter type does not match schema type"),
    );
    refused(
        &format!("{list},{}", with("id", "BETWEEN", r#"{"S":"b"},{"S":"a"}"#)),
        "!ValidationException: The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
    );
    refused(
        &format!("{list},{}", with("id", "BEGINS_WITH", r#"{"N":"1"}"#)),
        &format!("{INVALID}ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
    );
    refused(
        &with("list", "EQ", r#"{"S":"x"},{"S":"y"}"#),
        &format!("{INVALID}Invalid number of argument(s) for the EQ ComparisonOperator"),
    );
    refused(
        &with("list", "EQ", "{}"),
        "!ValidationException: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
    );
}

/// The service finds the table and the key before it rejects the operator.
#[test]
fn operators_that_no_index_supports_are_rejected_last() {
    const UNINDEXABLE: &str =
        "!ValidationException: Attempted conditional constraint is not an indexable operation";
    let service = service();
    let list = equals("list", "x");
    for (operator, arguments) in [
        ("NULL", ""),
        ("NOT_NULL", ""),
        ("NE", r#"{"S":"a"}"#),
        ("CONTAINS", r#"{"S":"a"}"#),
        ("NOT_CONTAINS", r#"{"S":"a"}"#),
        ("IN", r#"{"S":"a"}"#),
    ] {
        let test = |name: &str| {
            format!(
                r#""{name}":{{"ComparisonOperator":"{operator}","AttributeValueList":[{arguments}]}}"#
            )
        };
        let body = query(&test("list"), "");
        service.check(&[
            ("Query", &body, UNINDEXABLE),
            ("Query", &query(&format!("{list},{}", test("id")), ""), UNINDEXABLE),
            (
                "Query",
                &query(&format!("{list},{}", test("due")), r#","IndexName":"by_due""#),
                UNINDEXABLE,
            ),
            (
                "Query",
                &query(&test("other"), ""),
                "!ValidationException: Query condition missed key schema element: list",
            ),
            (
                "Query",
                &query(&test("list"), r#","IndexName":"none""#),
                "!ValidationException: The table does not have the specified index: none",
            ),
            (
                "Query",
                &body.replace("tasks", "none"),
                "!ResourceNotFoundException: Requested resource not found",
            ),
        ]);
    }
}

#[test]
fn a_key_condition_is_required() {
    let service = service();
    service.check(&[
        (
            "Query",
            r#"{"TableName":"tasks"}"#,
            "!ValidationException: Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
        ),
        (
            "Query",
            r#"{"TableName":"tasks","KeyConditions":{"list":{},"id":{"ComparisonOperator":"eq"}}}"#,
            "!ValidationException: 2 validation errors detected: Value 'eq' at 'keyConditions.id.member.comparisonOperator' failed to satisfy constraint: Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]; Value null at 'keyConditions.list.member.comparisonOperator' failed to satisfy constraint: Member must not be null",
        ),
    ]);
}
