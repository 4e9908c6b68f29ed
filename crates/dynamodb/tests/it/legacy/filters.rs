//! `QueryFilter` and `ScanFilter`. Their operators are those of `Expected`, which is tested with all
//! of them.

use crate::service::Service;

const INVALID: &str = "!ValidationException: One or more parameter values were invalid: ";
const KEY: &str =
    r#""KeyConditions":{"list":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}"#;

fn service() -> Service {
    let service = Service::with_tasks();
    for (id, rest) in [
        ("1", r#","n":{"N":"1"},"s":{"S":"hello"}"#),
        ("2", r#","n":{"N":"2"},"s":{"S":"help"}"#),
        ("3", r#","n":{"S":"3"}"#),
        ("4", ""),
    ] {
        service.ok(
            "PutItem",
            &format!(
                r#"{{"TableName":"tasks","Item":{{"list":{{"S":"x"}},"id":{{"S":"{id}"}}{rest}}}}}"#
            ),
        );
    }
    service
}

fn test(name: &str, operator: &str, arguments: &str) -> String {
    format!(r#""{name}":{{"ComparisonOperator":"{operator}","AttributeValueList":[{arguments}]}}"#)
}

fn query(filter: &str, rest: &str) -> String {
    format!(r#"{{"TableName":"tasks",{KEY},"QueryFilter":{{{filter}}}{rest}}}"#)
}

fn scan(filter: &str, rest: &str) -> String {
    format!(r#"{{"TableName":"tasks","ScanFilter":{{{filter}}}{rest}}}"#)
}

/// Asserts which ids pass a filter, of a query and of a scan.
fn passes(service: &Service, filter: &str, rest: &str, expected: &[&str]) {
    let rest = format!(r#","AttributesToGet":["id"]{rest}"#);
    let items: Vec<String> =
        expected.iter().map(|id| format!(r#"{{"id":{{"S":"{id}"}}}}"#)).collect();
    let body =
        format!(r#"{{"Items":[{}],"Count":{},"ScannedCount":4}}"#, items.join(","), items.len());
    service
        .check(&[("Query", &query(filter, &rest), &body), ("Scan", &scan(filter, &rest), &body)]);
}

#[test]
fn every_operator_filters() {
    let service = service();
    let cases: [(&str, &str, &str, &[&str]); 13] = [
        ("n", "EQ", r#"{"N":"1"}"#, &["1"]),
        ("n", "NE", r#"{"N":"1"}"#, &["2", "3", "4"]),
        ("n", "LT", r#"{"N":"2"}"#, &["1"]),
        ("n", "LE", r#"{"N":"2"}"#, &["1", "2"]),
        ("n", "GT", r#"{"N":"1"}"#, &["2"]),
        ("n", "GE", r#"{"N":"1"}"#, &["1", "2"]),
        ("n", "NOT_NULL", "", &["1", "2", "3"]),
        ("n", "NULL", "", &["4"]),
        ("s", "CONTAINS", r#"{"S":"lo"}"#, &["1"]),
        ("s", "NOT_CONTAINS", r#"{"S":"lo"}"#, &["2"]),
        ("s", "BEGINS_WITH", r#"{"S":"hel"}"#, &["1", "2"]),
        ("n", "IN", r#"{"N":"2"},{"N":"3"}"#, &["2"]),
        ("n", "BETWEEN", r#"{"N":"0"},{"N":"1"}"#, &["1"]),
    ];
    for (name, operator, arguments, expected) in cases {
        passes(&service, &test(name, operator, arguments), "", expected);
    }
}

#[test]
fn conditions_are_joined_by_the_conditional_operator() {
    let service = service();
    let both =
        format!("{},{}", test("n", "EQ", r#"{"N":"1"}"#), test("s", "CONTAINS", r#"{"S":"hel"}"#));
    passes(&service, &both, "", &["1"]);
    passes(&service, &both, r#","ConditionalOperator":"AND""#, &["1"]);
    passes(&service, &both, r#","ConditionalOperator":"OR""#, &["1", "2"]);
    passes(&service, "", "", &["1", "2", "3", "4"]);
}

/// The limit counts items before the filter.
#[test]
fn a_page_is_limited_before_it_is_filtered() {
    let last = test("n", "EQ", r#"{"N":"2"}"#);
    service().check(&[
        (
            "Query",
            &query(&last, r#","Limit":1"#),
            r#"{"Items":[],"Count":0,"ScannedCount":1,"LastEvaluatedKey":{"id":{"S":"1"},"list":{"S":"x"}}}"#,
        ),
        ("Query", &query(&last, r#","Select":"COUNT""#), r#"{"Count":1,"ScannedCount":4}"#),
    ]);
}

#[test]
fn a_query_is_not_filtered_by_its_key() {
    let service = service();
    for name in ["list", "id"] {
        let filter = format!("{},{}", test("n", "NOT_NULL", ""), test(name, "EQ", r#"{"S":"1"}"#));
        let why = format!(
            "!ValidationException: QueryFilter can only contain non-primary key attributes: Primary key attribute: {name}"
        );
        service.check(&[("Query", &query(&filter, ""), &why)]);
    }
    service.check(&[
        (
            "Query",
            &format!(r#"{{"TableName":"tasks",{KEY},"FilterExpression":"id = :a","ExpressionAttributeValues":{{":a":{{"S":"1"}}}}}}"#),
            "!ValidationException: Filter Expression can only contain non-primary key attributes: Primary key attribute: id",
        ),
        (
            "Query",
            &query(&test("n", "NULL", ""), r#","IndexName":"by_due""#),
            &format!("{INVALID}Secondary index by_due does not project one or more filter attributes: [n]"),
        ),
        ("Scan", &scan(&test("id", "EQ", r#"{"S":"1"}"#), r#","Select":"COUNT""#), r#"{"Count":1,"ScannedCount":4}"#),
    ]);
}

#[test]
fn invalid_filters_are_rejected() {
    let service = service();
    let refused = |filter: &str, rest: &str, why: &str| {
        service.check(&[("Query", &query(filter, rest), why), ("Scan", &scan(filter, rest), why)]);
    };
    refused(
        r#""a":{"ComparisonOperator":"EQ"}"#,
        "",
        &format!("{INVALID}Invalid number of argument(s) for the EQ ComparisonOperator"),
    );
    refused(
        &test("a", "LT", r#"{"BOOL":true}"#),
        "",
        &format!("{INVALID}ComparisonOperator LT is not valid for BOOL AttributeValue type"),
    );
    refused(
        &test("a", "IN", r#"{"S":"x"},{"N":"1"}"#),
        "",
        &format!("{INVALID}AttributeValues inside AttributeValueList must be of same type"),
    );
    // Values before their number.
    refused(
        &test("a", "EQ", r#"{"N":"1"},{}"#),
        "",
        "!ValidationException: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
    );
    refused(
        &test("a", "NULL", ""),
        r#","ConditionalOperator":"AND""#,
        "!ValidationException: ConditionalOperator can only be used when Filter or Expected has two or more elements",
    );
    refused(
        "",
        r#","ConditionalOperator":"AND""#,
        "!ValidationException: ConditionalOperator cannot be used without Filter or Expected",
    );
    service.check(&[
        (
            "Query",
            r#"{"TableName":"tasks","ConditionalOperator":"AND"}"#,
            "!ValidationException: ConditionalOperator cannot be used without Filter or Expected",
        ),
        (
            "Scan",
            r#"{"TableName":"tasks","ScanFilter":{"a":{}},"ConditionalOperator":"XOR"}"#,
            "!ValidationException: 2 validation errors detected: Value null at 'scanFilter.a.member.comparisonOperator' failed to satisfy constraint: Member must not be null; Value 'XOR' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy enum value set: [OR, AND]",
        ),
    ]);
}

/// A query looks at its filter before the attributes to get, a scan after them.
#[test]
fn filters_are_checked_in_the_order_of_the_service() {
    let rest = r#","AttributesToGet":["a","a"],"ExclusiveStartKey":{"a":{}}"#;
    let wrong = test("a", "EQ", "");
    let count = format!("{INVALID}Invalid number of argument(s) for the EQ ComparisonOperator");
    let twice = format!("{INVALID}Duplicate value in attribute name: a");
    let start = "!ValidationException: The provided starting key is invalid: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    let only_start = r#","ExclusiveStartKey":{"a":{}}"#;
    Service::new().check(&[
        ("Query", &query(&wrong, rest), &count),
        ("Query", &query("", rest), &twice),
        ("Query", &query("", only_start), start),
        ("Scan", &scan(&wrong, rest), &twice),
        ("Scan", &scan(&wrong, only_start), &count),
        ("Scan", &scan("", only_start), start),
    ]);
}

/// A filter has as many operators as an expression.
#[test]
fn a_filter_has_a_limited_size() {
    let service = service();
    let filter = |conditions: usize| {
        let tests: Vec<String> =
            (0..conditions).map(|n| test(&format!("a{n}"), "NULL", "")).collect();
        scan(&tests.join(","), r#","Select":"COUNT""#)
    };
    service.check(&[("Scan", &filter(150), r#"{"Count":4,"ScannedCount":4}"#)]);
    let reply = service.call("Scan", &filter(151));
    assert!(reply.body.contains("ValidationException"), "{}", reply.body);
    let choices = |count: usize| test("n", "IN", vec![r#"{"N":"1"}"#; count].join(",").as_str());
    passes(&service, &choices(100), "", &["1"]);
    let why = "!ValidationException: The IN operator is provided with too many operands; number of operands: 101";
    service.check(&[("Scan", &scan(&choices(101), ""), why)]);
}

/// Its size is limited by the request alone.
#[test]
fn a_large_filter_takes_no_longer_than_a_large_request() {
    let service = service();
    let long = "QUFB".repeat(1_000_000);
    let part = test("b", "CONTAINS", &format!(r#"{{"B":"{long}"}}"#));
    passes(&service, &part, "", &[]);
    let many: Vec<String> = (0..200_000).map(|n| test(&format!("a{n}"), "NULL", "")).collect();
    let reply = service.call("Scan", &scan(&many.join(","), ""));
    assert!(reply.body.contains("ValidationException"), "{}", reply.body);
}
