//! Tables, their settings, tags and time to live.

use keyloom_store::Read;
use pollster::block_on;

use crate::service::{Service, member};

#[test]
fn a_table_is_described_as_created() {
    let service = Service::with_tasks();
    let body = service.ok("DescribeTable", r#"{"TableName":"tasks"}"#);
    for part in [
        r#"{"Table":{"AttributeDefinitions":[{"AttributeName":"list","AttributeType":"S"},{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"title","AttributeType":"S"},{"AttributeName":"due","AttributeType":"N"}],"TableName":"tasks","KeySchema":[{"AttributeName":"list","KeyType":"HASH"},{"AttributeName":"id","KeyType":"RANGE"}],"TableStatus":"ACTIVE""#,
        r#""TableArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tasks""#,
        r#""BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST""#,
        r#""GlobalSecondaryIndexes":[{"IndexName":"by_due","KeySchema":[{"AttributeName":"list","KeyType":"HASH"},{"AttributeName":"due","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"},"IndexSizeBytes":0,"ItemCount":0,"IndexArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tasks/index/by_due","IndexStatus":"ACTIVE""#,
        r#""LocalSecondaryIndexes":[{"IndexName":"by_title""#,
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
    assert_eq!(service.ok("ListTables", "{}"), r#"{"TableNames":["tasks"]}"#);
}

#[test]
fn names_are_listed_in_pages_without_the_settings_table() {
    let service = Service::new();
    for name in ["aaa", "bbb", "zzz"] {
        service.ok("CreateTable", &small(name, r#","Tags":[{"Key":"k","Value":"v"}]"#));
    }
    service.check(&[
        ("ListTables", r#"{"Limit":2}"#, r#"{"TableNames":["aaa","bbb"],"LastEvaluatedTableName":"bbb"}"#),
        ("ListTables", r#"{"Limit":2,"ExclusiveStartTableName":"bbb"}"#, r#"{"TableNames":["zzz"]}"#),
        (
            "Scan",
            r#"{"TableName":"keyloom.dynamodb.tables"}"#,
            "!ResourceNotFoundException: Requested resource not found: Table: keyloom.dynamodb.tables not found",
        ),
        ("DeleteTable", r#"{"TableName":"none"}"#, "!ResourceNotFoundException: Requested resource not found: Table: none not found"),
    ]);
    let again = service.call("CreateTable", &small("aaa", ""));
    assert!(
        again.body.contains("ResourceInUseException")
            && again.body.contains("Table already exists: aaa")
    );
}

/// Test suites of client libraries do this. A dropped table leaves no settings, so later ones are as
/// fast as the first.
#[test]
fn a_thousand_dropped_tables_leave_no_settings() {
    let service = Service::new();
    let named = |n: usize| format!("table-{n:04}");
    for n in 0..1000 {
        service.ok("CreateTable", &small(&named(n), r#","Tags":[{"Key":"k","Value":"v"}]"#));
    }
    let last = service.ok("ListTables", r#"{"ExclusiveStartTableName":"table-0998"}"#);
    assert_eq!(last, r#"{"TableNames":["table-0999"]}"#);
    for n in 0..1000 {
        service.ok("DeleteTable", &format!(r#"{{"TableName":"{}"}}"#, named(n)));
    }
    assert_eq!(service.ok("ListTables", "{}"), r#"{"TableNames":[]}"#);
    let settings = keyloom_store::TableName::new("keyloom.dynamodb.tables").unwrap();
    assert_eq!(block_on(service.store.describe_table(settings)).unwrap().items, 0);
}

fn small(name: &str, rest: &str) -> String {
    format!(
        r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"a","AttributeType":"S"}}],"KeySchema":[{{"AttributeName":"a","KeyType":"HASH"}}]{rest}}}"#
    )
}

#[test]
fn invalid_tables_are_rejected() {
    let invalid = "One or more parameter values were invalid: ";
    let cases = [
        ("{}", "The parameter 'TableName' is required but was not present in the request".to_owned()),
        (r#"{"TableName":"a"}"#, "3 validation errors detected: Value null at 'attributeDefinitions' failed to satisfy constraint: Member must not be null; Value 'a' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3; Value null at 'keySchema' failed to satisfy constraint: Member must not be null".to_owned()),
        (
            r#"{"TableName":"a;b"}"#,
            "3 validation errors detected: Value null at 'attributeDefinitions' failed to satisfy constraint: Member must not be null; Value 'a;b' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; Value null at 'keySchema' failed to satisfy constraint: Member must not be null".to_owned(),
        ),
        (
            r#"{"TableName":"abc","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}"#,
            format!("{invalid}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"),
        ),
        (
            r#"{"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"b","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}"#,
            format!("{invalid}Some index key attributes are not defined in AttributeDefinitions. Keys: [a], AttributeDefinitions: [b]"),
        ),
        (
            r#"{"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"RANGE"}]}"#,
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type".to_owned(),
        ),
        (
            r#"{"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}"#,
            format!("{invalid}Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"),
        ),
        (
            r#"{"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"LocalSecondaryIndexes":[{"IndexName":"abc","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}"#,
            format!("{invalid}Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"),
        ),
    ];
    let service = Service::new();
    for (body, expected) in cases {
        service.check(&[("CreateTable", body, &format!("!ValidationException: {expected}"))]);
    }
}

#[test]
fn index_keys_of_several_attributes() {
    let service = Service::new();
    service.ok("CreateTable", r#"{"TableName":"wide","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"h1","AttributeType":"S"},
            {"AttributeName":"h2","AttributeType":"N"},{"AttributeName":"r1","AttributeType":"S"},{"AttributeName":"r2","AttributeType":"N"}],
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
        "GlobalSecondaryIndexes":[{"IndexName":"multi","Projection":{"ProjectionType":"ALL"},"KeySchema":[
            {"AttributeName":"h1","KeyType":"HASH"},{"AttributeName":"h2","KeyType":"HASH"},
            {"AttributeName":"r1","KeyType":"RANGE"},{"AttributeName":"r2","KeyType":"RANGE"}]}]}"#);
    for n in 0..4 {
        service.ok("PutItem", &format!(r#"{{"TableName":"wide","Item":{{"id":{{"S":"{n}"}},"h1":{{"S":"x"}},"h2":{{"N":"1"}},"r1":{{"S":"y"}},"r2":{{"N":"{n}"}}}}}}"#));
    }
    service.check(&[
        (
            "Query",
            r#"{"TableName":"wide","IndexName":"multi","KeyConditionExpression":"h1 = :x AND h2 = :n AND r1 = :y AND r2 > :n","ExpressionAttributeValues":{":x":{"S":"x"},":y":{"S":"y"},":n":{"N":"1"}},"ProjectionExpression":"id"}"#,
            r#"{"Items":[{"id":{"S":"2"}},{"id":{"S":"3"}}],"Count":2,"ScannedCount":2}"#,
        ),
        (
            "Query",
            r#"{"TableName":"wide","IndexName":"multi","KeyConditionExpression":"h1 = :x","ExpressionAttributeValues":{":x":{"S":"x"}}}"#,
            "!ValidationException: Query condition missed key schema element: h2",
        ),
    ]);
}

#[test]
fn tags_are_kept_with_the_table() {
    let service = Service::new();
    service.ok("CreateTable", &small("aaa", r#","Tags":[{"Key":"k","Value":"v"}]"#));
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/aaa";
    let list = format!(r#"{{"ResourceArn":"{arn}"}}"#);
    assert_eq!(service.ok("ListTagsOfResource", &list), r#"{"Tags":[{"Key":"k","Value":"v"}]}"#);
    service.ok("TagResource", &format!(r#"{{"ResourceArn":"{arn}","Tags":[{{"Key":"a","Value":""}},{{"Key":"k","Value":"w"}}]}}"#));
    assert_eq!(
        service.ok("ListTagsOfResource", &list),
        r#"{"Tags":[{"Key":"a","Value":""},{"Key":"k","Value":"w"}]}"#
    );
    service.ok("UntagResource", &format!(r#"{{"ResourceArn":"{arn}","TagKeys":["a","none"]}}"#));
    assert_eq!(service.ok("ListTagsOfResource", &list), r#"{"Tags":[{"Key":"k","Value":"w"}]}"#);
    // A later table of the same name does not inherit them.
    service.ok("DeleteTable", r#"{"TableName":"aaa"}"#);
    service.clock.advance_ms(1);
    service.ok("CreateTable", &small("aaa", ""));
    assert_eq!(service.ok("ListTagsOfResource", &list), r#"{"Tags":[]}"#);
    service.check(&[(
        "ListTagsOfResource",
        r#"{"ResourceArn":"aaa"}"#,
        "!ValidationException: One or more parameter values were invalid: ARNs must start with 'arn:': aaa",
    )]);
}

#[test]
fn time_to_live_is_enabled_and_disabled() {
    let on =
        r#"{"TableName":"tasks","TimeToLiveSpecification":{"AttributeName":"end","Enabled":true}}"#;
    let off = r#"{"TableName":"tasks","TimeToLiveSpecification":{"AttributeName":"end","Enabled":false}}"#;
    let other =
        r#"{"TableName":"tasks","TimeToLiveSpecification":{"AttributeName":"x","Enabled":false}}"#;
    let describe = r#"{"TableName":"tasks"}"#;
    Service::with_tasks().check(&[
        ("DescribeTimeToLive", describe, r#"{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}"#),
        ("UpdateTimeToLive", off, "!ValidationException: TimeToLive is already disabled"),
        ("UpdateTimeToLive", on, r#"{"TimeToLiveSpecification":{"AttributeName":"end","Enabled":true}}"#),
        ("UpdateTimeToLive", on, "!ValidationException: TimeToLive is already enabled"),
        ("DescribeTimeToLive", describe, r#"{"TimeToLiveDescription":{"AttributeName":"end","TimeToLiveStatus":"ENABLED"}}"#),
        (
            "UpdateTimeToLive",
            other,
            "!ValidationException: TimeToLive is active on a different AttributeName: current AttributeName is end",
        ),
        ("UpdateTimeToLive", off, r#"{"TimeToLiveSpecification":{"AttributeName":"end","Enabled":false}}"#),
    ]);
}

#[test]
fn a_table_is_changed() {
    let service = Service::with_tasks();
    service.ok("UpdateTable", r#"{"TableName":"tasks","AttributeDefinitions":[{"AttributeName":"x","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by_x","KeySchema":[{"AttributeName":"x","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["y"]}}}]}"#);
    let body = service.ok("DescribeTable", r#"{"TableName":"tasks"}"#);
    assert!(
        body.contains(r#""Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["y"]}"#),
        "{body}"
    );
    service.ok(
        "UpdateTable",
        r#"{"TableName":"tasks","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by_x"}}]}"#,
    );
    assert!(!service.ok("DescribeTable", r#"{"TableName":"tasks"}"#).contains("by_x"));
    let body = service.ok("UpdateTable", r#"{"TableName":"tasks","BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6},"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by_due","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}}]}"#);
    assert!(body.contains(r#""ReadCapacityUnits":5,"WriteCapacityUnits":6"#), "{body}");
    service.ok("UpdateTable", r#"{"TableName":"tasks","DeletionProtectionEnabled":true}"#);
    let refused = service.call("DeleteTable", r#"{"TableName":"tasks"}"#);
    assert!(refused.body.contains("protected against deletion"), "{}", refused.body);
    service.ok("UpdateTable", r#"{"TableName":"tasks","DeletionProtectionEnabled":false}"#);
    let body = service.ok("DeleteTable", r#"{"TableName":"tasks"}"#);
    assert_eq!(member(&body, "TableStatus"), "DELETING");
    service.check(&[
        ("UpdateTable", r#"{"TableName":"tasks"}"#, "!ValidationException: At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"),
        ("UpdateTable", r#"{"TableName":"tasks","ReplicaUpdates":[]}"#, "!ValidationException: Global tables are not supported by this server"),
    ]);
}

#[test]
fn limits_and_endpoints_are_described() {
    let service = Service::new();
    assert!(service.ok("DescribeLimits", "{}").contains(r#""TableMaxReadCapacityUnits":40000"#));
    assert!(service.ok("DescribeEndpoints", "{}").contains("dynamodb.us-east-1.amazonaws.com"));
}
