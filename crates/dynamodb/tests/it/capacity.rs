//! Consumed capacity, by the service's rules.

use crate::service::Service;

/// An item of about this many bytes, with or without the attributes of both indexes.
fn item(bytes: usize, indexed: bool) -> String {
    let text = "x".repeat(bytes);
    let keys = if indexed { r#","due":{"N":"1"},"title":{"S":"t"}"# } else { "" };
    format!(r#"{{"list":{{"S":"a"}},"id":{{"S":"1"}},"text":{{"S":"{text}"}}{keys}}}"#)
}

fn units(body: &str) -> &str {
    body.split_once(r#""CapacityUnits":"#)
        .map_or("", |(_, rest)| rest.split([',', '}']).next().unwrap_or_default())
}

#[test]
fn writes_are_charged_for_the_larger_image_and_for_indexes() {
    let service = Service::with_tasks();
    let put = |item: &str, detail: &str| {
        service.ok(
            "PutItem",
            &format!(
                r#"{{"TableName":"tasks","Item":{item},"ReturnConsumedCapacity":"{detail}"}}"#
            ),
        )
    };
    assert_eq!(units(&put(&item(100, false), "TOTAL")), "1.0");
    assert_eq!(units(&put(&item(3000, false), "TOTAL")), "3.0");
    assert_eq!(units(&put(&item(10, false), "TOTAL")), "3.0", "the old image was larger");
    // The global index projects only keys, the local one everything.
    assert_eq!(
        put(&item(3000, true), "INDEXES"),
        r#"{"ConsumedCapacity":{"TableName":"tasks","CapacityUnits":7.0,"Table":{"CapacityUnits":3.0},"LocalSecondaryIndexes":{"by_title":{"CapacityUnits":3.0}},"GlobalSecondaryIndexes":{"by_due":{"CapacityUnits":1.0}}}}"#
    );
    let same = put(&item(3000, true), "INDEXES");
    assert_eq!(
        same,
        r#"{"ConsumedCapacity":{"TableName":"tasks","CapacityUnits":3.0,"Table":{"CapacityUnits":3.0}}}"#
    );
    let update = r#"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"UpdateExpression":"SET due = :n","ExpressionAttributeValues":{":n":{"N":"2"}},"ReturnConsumedCapacity":"INDEXES"}"#;
    assert_eq!(
        service.ok("UpdateItem", update),
        r#"{"ConsumedCapacity":{"TableName":"tasks","CapacityUnits":8.0,"Table":{"CapacityUnits":3.0},"LocalSecondaryIndexes":{"by_title":{"CapacityUnits":3.0}},"GlobalSecondaryIndexes":{"by_due":{"CapacityUnits":2.0}}}}"#,
        "a changed index key is charged for two rows"
    );
    let delete = r#"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ReturnConsumedCapacity":"TOTAL"}"#;
    assert_eq!(units(&service.ok("DeleteItem", delete)), "7.0");
    assert_eq!(units(&service.ok("DeleteItem", delete)), "1.0", "a missing item costs one unit");
}

#[test]
fn reads_are_charged_by_four_kilobytes() {
    let service = Service::with_tasks();
    service.ok("PutItem", &format!(r#"{{"TableName":"tasks","Item":{}}}"#, item(5000, true)));
    let key = r#"{"list":{"S":"a"},"id":{"S":"1"}}"#;
    let cases = [
        ("GetItem", format!(r#""Key":{key}"#), "1.0"),
        ("GetItem", format!(r#""Key":{key},"ProjectionExpression":"id""#), "1.0"),
        ("GetItem", format!(r#""Key":{key},"ConsistentRead":true"#), "2.0"),
        ("GetItem", r#""Key":{"list":{"S":"a"},"id":{"S":"9"}}"#.to_owned(), "0.5"),
        ("Scan", r#""ConsistentRead":true"#.to_owned(), "2.0"),
        ("Scan", r#""FilterExpression":"attribute_exists(nothing)""#.to_owned(), "1.0"),
        ("Scan", r#""IndexName":"by_due""#.to_owned(), "0.5"),
    ];
    for (operation, rest, expected) in cases {
        let body = format!(r#"{{"TableName":"tasks",{rest},"ReturnConsumedCapacity":"TOTAL"}}"#);
        assert_eq!(units(&service.ok(operation, &body)), expected, "{operation} {rest}");
    }
    let body = service.ok("Scan", r#"{"TableName":"tasks","IndexName":"by_due","Select":"COUNT","ReturnConsumedCapacity":"INDEXES"}"#);
    assert_eq!(
        body,
        r#"{"Count":1,"ScannedCount":1,"ConsumedCapacity":{"TableName":"tasks","CapacityUnits":0.5,"Table":{"CapacityUnits":0.0},"GlobalSecondaryIndexes":{"by_due":{"CapacityUnits":0.5}}}}"#
    );
    let batch = format!(
        r#"{{"RequestItems":{{"tasks":{{"Keys":[{key},{{"list":{{"S":"a"}},"id":{{"S":"9"}}}}],"ProjectionExpression":"id"}}}},"ReturnConsumedCapacity":"TOTAL"}}"#
    );
    assert_eq!(
        service.ok("BatchGetItem", &batch),
        r#"{"Responses":{"tasks":[{"id":{"S":"1"}}]},"UnprocessedKeys":{},"ConsumedCapacity":[{"TableName":"tasks","CapacityUnits":1.5}]}"#
    );
}

#[test]
fn transactions_are_charged_double() {
    let service = Service::with_tasks();
    let put = format!(
        r#"{{"TransactItems":[{{"Put":{{"TableName":"tasks","Item":{}}}}}],"ReturnConsumedCapacity":"INDEXES"}}"#,
        item(1500, false)
    );
    assert_eq!(
        service.ok("TransactWriteItems", &put),
        r#"{"ConsumedCapacity":[{"TableName":"tasks","CapacityUnits":4.0,"WriteCapacityUnits":4.0,"Table":{"CapacityUnits":4.0,"WriteCapacityUnits":4.0}}]}"#
    );
    let get = r#"{"TransactItems":[{"Get":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ProjectionExpression":"id"}}],"ReturnConsumedCapacity":"TOTAL"}"#;
    assert_eq!(
        service.ok("TransactGetItems", get),
        r#"{"Responses":[{"Item":{"id":{"S":"1"}}}],"ConsumedCapacity":[{"TableName":"tasks","CapacityUnits":2.0,"ReadCapacityUnits":2.0}]}"#
    );
}

#[test]
fn collection_metrics_are_returned_for_tables_with_local_indexes() {
    let service = Service::with_tasks();
    let body = service.ok("PutItem", r#"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"}},"ReturnItemCollectionMetrics":"SIZE"}"#);
    assert_eq!(
        body,
        r#"{"ItemCollectionMetrics":{"ItemCollectionKey":{"list":{"S":"a"}},"SizeEstimateRangeGB":[0.0,1.0]}}"#
    );
}
