//! Requests about tables that the service rejects, with its messages.

use crate::service::{Service, member};

const KEY: &str = r#""AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]"#;
const INVALID: &str = "!ValidationException: One or more parameter values were invalid: ";
const ONE: &str = "!ValidationException: 1 validation error detected: ";

fn on_demand(name: &str, rest: &str) -> String {
    format!(r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST",{KEY}{rest}}}"#)
}

fn check(service: &Service, operation: &str, body: &str, expected: &str) {
    service.check(&[(operation, body, expected)]);
}

#[test]
fn names_of_two_letters_are_too_short() {
    let service = Service::new();
    let too_short = "Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3";
    check(&service, "CreateTable", &on_demand("ab", ""), &format!("{ONE}{too_short}"));
    check(&service, "DescribeTable", r#"{"TableName":"ab"}"#, &format!("{ONE}{too_short}"));
    // Requests about items accept shorter names, and find no table.
    check(
        &service,
        "GetItem",
        r#"{"TableName":"ab","Key":{"a":{"S":"1"}}}"#,
        "!ResourceNotFoundException: Requested resource not found",
    );
}

#[test]
fn a_key_with_too_many_attributes_is_repeated() {
    let body = r#"{"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"},{"AttributeName":"c","KeyType":"RANGE"}]}"#;
    let echo = "[KeySchemaElement(attributeName=a, keyType=HASH), KeySchemaElement(attributeName=b, keyType=RANGE), KeySchemaElement(attributeName=c, keyType=RANGE)]";
    let expected = format!(
        "{ONE}Value '{echo}' at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2"
    );
    check(&Service::new(), "CreateTable", body, &expected);
}

#[test]
fn violations_of_global_indexes_come_first() {
    let index = |name: &str| {
        format!(
            r#"[{{"IndexName":"{name}","KeySchema":[{{"AttributeName":"a","KeyType":"HASH"}}],"Projection":{{"ProjectionType":"ALL"}}}}]"#
        )
    };
    let rest = format!(
        r#","LocalSecondaryIndexes":{},"GlobalSecondaryIndexes":{}"#,
        index("l1"),
        index("g1")
    );
    let short = |name: &str, at: &str| {
        format!(
            "Value '{name}' at '{at}.1.member.indexName' failed to satisfy constraint: Member must have length greater than or equal to 3"
        )
    };
    let expected = format!(
        "!ValidationException: 2 validation errors detected: {}; {}",
        short("g1", "globalSecondaryIndexes"),
        short("l1", "localSecondaryIndexes")
    );
    check(&Service::new(), "CreateTable", &on_demand("abc", &rest), &expected);
}

#[test]
fn table_classes_are_two() {
    let service = Service::new();
    let expected = "!ValidationException: Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].";
    check(&service, "CreateTable", &on_demand("abc", r#","TableClass":"DOG""#), expected);
    let made = service
        .ok("CreateTable", &on_demand("abc", r#","TableClass":"STANDARD_INFREQUENT_ACCESS""#));
    assert_eq!(member(&made, "TableClass"), "STANDARD_INFREQUENT_ACCESS");
    check(&service, "UpdateTable", r#"{"TableName":"abc","TableClass":"DOG"}"#, expected);
}

#[test]
fn indexes_of_a_provisioned_table_have_throughput() {
    let service = Service::new();
    let units = r#"{"ReadCapacityUnits":1,"WriteCapacityUnits":2}"#;
    let index = |units: &str| {
        format!(
            r#"{{"IndexName":"abc","KeySchema":[{{"AttributeName":"a","KeyType":"HASH"}}],"Projection":{{"ProjectionType":"ALL"}}{units}}}"#
        )
    };
    let table = |index: &str| {
        format!(
            r#"{{"TableName":"abc","ProvisionedThroughput":{units},{KEY},"GlobalSecondaryIndexes":[{index}]}}"#
        )
    };
    check(
        &service,
        "CreateTable",
        &table(&index("")),
        &format!("{INVALID}ProvisionedThroughput is not specified for index: abc"),
    );
    service.ok("CreateTable", &table(&index(&format!(r#","ProvisionedThroughput":{units}"#))));
    let create = |table: &str, index: &str| {
        format!(
            r#"{{"TableName":"{table}","AttributeDefinitions":[{{"AttributeName":"a","AttributeType":"S"}}],"GlobalSecondaryIndexUpdates":[{{"Create":{index}}}]}}"#
        )
    };
    check(
        &service,
        "UpdateTable",
        &create("abc", &index("").replace("\"abc\"", "\"abd\"")),
        &format!(
            "{INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: abd"
        ),
    );
    // A table that becomes provisioned gives its indexes throughput in the same request.
    service.ok(
        "CreateTable",
        &on_demand("two", &format!(r#","GlobalSecondaryIndexes":[{}]"#, index(""))),
    );
    let provisioned = format!(
        r#"{{"TableName":"two","BillingMode":"PROVISIONED","ProvisionedThroughput":{units}"#
    );
    check(
        &service,
        "UpdateTable",
        &format!("{provisioned}}}"),
        &format!("{INVALID}ProvisionedThroughput must be specified for index: abc"),
    );
    service.ok("UpdateTable", &format!(r#"{provisioned},"GlobalSecondaryIndexUpdates":[{{"Update":{{"IndexName":"abc","ProvisionedThroughput":{units}}}}}]}}"#));
}

#[test]
fn changes_of_indexes_must_fit_the_table() {
    let service = Service::with_tasks();
    let update = |updates: &str| {
        format!(
            r#"{{"TableName":"tasks","AttributeDefinitions":[{{"AttributeName":"due","AttributeType":"N"}}],"GlobalSecondaryIndexUpdates":{updates}}}"#
        )
    };
    let create = |name: &str| {
        format!(
            r#""Create":{{"IndexName":"{name}","KeySchema":[{{"AttributeName":"due","KeyType":"HASH"}}],"Projection":{{"ProjectionType":"ALL"}}}}"#
        )
    };
    let cases = [
        (
            "[]".to_owned(),
            "!ValidationException: At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required".to_owned(),
        ),
        (
            format!(r#"[{{{},"Delete":{{"IndexName":"by_due"}}}}]"#, create("abc")),
            format!("{INVALID}Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"),
        ),
        (
            format!("[{{{}}}]", create("by_due")),
            "!ValidationException: Attempting to create an index which already exists".to_owned(),
        ),
        (
            r#"[{"Update":{"IndexName":"none"}}]"#.to_owned(),
            "!ResourceNotFoundException: Requested resource not found: Index none for table tasks".to_owned(),
        ),
        (
            r#"[{"Delete":{"IndexName":"none"}}]"#.to_owned(),
            "!ResourceNotFoundException: Requested resource not found: Index none for table tasks".to_owned(),
        ),
        (
            r#"[{"Delete":{"IndexName":"by_title"}}]"#.to_owned(),
            "!ValidationException: Cannot delete an index that is not a GlobalSecondaryIndex: by_title".to_owned(),
        ),
        (
            r#"[{"Delete":{"IndexName":"a"}}]"#.to_owned(),
            format!("{ONE}Value 'a' at 'globalSecondaryIndexUpdates.1.member.delete.indexName' failed to satisfy constraint: Member must have length greater than or equal to 3"),
        ),
    ];
    for (updates, expected) in cases {
        check(&service, "UpdateTable", &update(&updates), &expected);
    }
}

#[test]
fn projected_attributes_are_named_once() {
    let rest = r#","GlobalSecondaryIndexes":[{"IndexName":"abc","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x","y","x"]}}]"#;
    let expected = format!("{INVALID}Duplicate element in NonKeyAttributes: x");
    check(&Service::new(), "CreateTable", &on_demand("abc", rest), &expected);
}

#[test]
fn tags_are_limited_in_number_and_characters() {
    let service = Service::with_tasks();
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tasks";
    let tag = |arn: &str, tags: &str| format!(r#"{{"ResourceArn":"{arn}","Tags":[{tags}]}}"#);
    let one = |key: &str, value: &str| format!(r#"{{"Key":"{key}","Value":"{value}"}}"#);
    let many = |from: usize, to: usize| {
        (from..to).map(|n| one(&format!("k{n}"), "v")).collect::<Vec<_>>().join(",")
    };
    service.ok("TagResource", &tag(arn, &one("клавиша +-=._:/@", "ценность")));
    service.ok("TagResource", &tag(arn, &many(0, 49)));
    let invalid = "!ValidationException: ";
    let too_many = "Number of Tags exceed the current limit for the provided ResourceArn";
    let cases = [
        (tag(arn, &many(49, 50)), too_many),
        (tag(arn, &one("hi!", "v")), "The Tag Key provided is invalid, Key: hi!"),
        (tag(arn, &one("k", "d%g")), "The Tag Value provided is invalid, Value: d%g"),
        (tag(arn, &one("aws:k", "v")), "Tag Key cannot be prefixed with aws:, Key: aws:k"),
        (
            tag(arn, &format!("{},{}", one("k", "v"), one("k", "w"))),
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found k",
        ),
        (
            tag(&format!("{arn}/index/by_due"), &one("k", "v")),
            "One or more parameter values were invalid: Invalid resource arn provided, only table or stream is accepted. Provided resource arn: arn:aws:dynamodb:us-east-1:000000000000:table/tasks/index/by_due",
        ),
        (
            tag("tasks", &one("k", "v")),
            "One or more parameter values were invalid: ARNs must start with 'arn:': tasks",
        ),
    ];
    for (body, expected) in cases {
        check(&service, "TagResource", &body, &format!("{invalid}{expected}"));
    }
    // Nothing is created with too many of them.
    let body = on_demand("abc", &format!(r#","Tags":[{}]"#, many(0, 51)));
    check(&service, "CreateTable", &body, &format!("{invalid}{too_many}"));
    let gone = service.call("DescribeTable", r#"{"TableName":"abc"}"#);
    assert!(gone.body.contains("ResourceNotFoundException"), "{}", gone.body);
}

#[test]
fn the_answer_to_a_deletion_has_no_keys() {
    let service = Service::with_tasks();
    let body = service.ok("DeleteTable", r#"{"TableName":"tasks"}"#);
    for absent in ["KeySchema", "AttributeDefinitions", "CreationDateTime", "SecondaryIndexes"] {
        assert!(!body.contains(absent), "{absent}: {body}");
    }
    for present in ["TableName", "TableStatus", "TableArn", "TableId", "ProvisionedThroughput"] {
        assert!(body.contains(present), "{present}: {body}");
    }
}
