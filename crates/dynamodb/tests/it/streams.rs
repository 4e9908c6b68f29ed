//! Change streams.

use crate::service::{Service, member};

fn with_stream(view: &str) -> (Service, String) {
    let service = Service::new();
    let body = service.ok("CreateTable", &format!(
        r#"{{"TableName":"feed","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"id","AttributeType":"S"}}],"KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}],"StreamSpecification":{{"StreamEnabled":true,"StreamViewType":"{view}"}}}}"#
    ));
    let arn = member(&body, "LatestStreamArn").to_owned();
    (service, arn)
}

fn iterator(service: &Service, arn: &str, kind: &str) -> String {
    let body = service.ok("DescribeStream", &format!(r#"{{"StreamArn":"{arn}"}}"#));
    let shard = member(&body, "ShardId");
    assert!(shard.len() >= 28 && member(&body, "StartingSequenceNumber").len() >= 21, "{body}");
    let body = service
        .ok("GetShardIterator", &format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}",{kind}}}"#));
    member(&body, "ShardIterator").to_owned()
}

#[test]
fn records_have_the_images_of_the_view() {
    let images = [
        ("KEYS_ONLY", false, false),
        ("NEW_IMAGE", true, false),
        ("OLD_IMAGE", false, true),
        ("NEW_AND_OLD_IMAGES", true, true),
    ];
    for (view, new, old) in images {
        let (service, arn) = with_stream(view);
        let latest = iterator(&service, &arn, r#""ShardIteratorType":"LATEST""#);
        service.ok("PutItem", r#"{"TableName":"feed","Item":{"id":{"S":"1"},"n":{"N":"1"}}}"#);
        service.ok("PutItem", r#"{"TableName":"feed","Item":{"id":{"S":"1"},"n":{"N":"2"}}}"#);
        service.ok("DeleteItem", r#"{"TableName":"feed","Key":{"id":{"S":"1"}}}"#);
        let oldest = iterator(&service, &arn, r#""ShardIteratorType":"TRIM_HORIZON""#);
        let body = service.ok("GetRecords", &format!(r#"{{"ShardIterator":"{oldest}"}}"#));
        assert_eq!(
            body,
            service.ok("GetRecords", &format!(r#"{{"ShardIterator":"{latest}"}}"#)),
            "{view}"
        );
        let names: Vec<&str> =
            body.split(r#""eventName":""#).skip(1).map(|rest| &rest[..6]).collect();
        assert_eq!(names, ["INSERT", "MODIFY", "REMOVE"]);
        assert_eq!(body.matches("\"NewImage\"").count(), if new { 2 } else { 0 }, "{view}");
        assert_eq!(body.matches("\"OldImage\"").count(), if old { 2 } else { 0 }, "{view}");
        let next = member(&body, "NextShardIterator");
        let rest = service.ok("GetRecords", &format!(r#"{{"ShardIterator":"{next}"}}"#));
        assert!(rest.starts_with(r#"{"Records":[],"#), "{rest}");
    }
}

#[test]
fn records_are_read_from_a_sequence_number_and_in_pages() {
    let (service, arn) = with_stream("KEYS_ONLY");
    for n in 0..5 {
        service.ok("PutItem", &format!(r#"{{"TableName":"feed","Item":{{"id":{{"S":"{n}"}}}}}}"#));
    }
    let mut next = iterator(&service, &arn, r#""ShardIteratorType":"TRIM_HORIZON""#);
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let body = service.ok("GetRecords", &format!(r#"{{"ShardIterator":"{next}","Limit":2}}"#));
        numbers
            .extend(body.split(r#""SequenceNumber":""#).skip(1).map(|rest| rest[..21].to_owned()));
        next = member(&body, "NextShardIterator").to_owned();
    }
    assert_eq!(numbers.len(), 5);
    assert!(numbers.is_sorted());
    for (kind, left) in [("AT_SEQUENCE_NUMBER", 3), ("AFTER_SEQUENCE_NUMBER", 2)] {
        let kind = format!(r#""ShardIteratorType":"{kind}","SequenceNumber":"{}""#, numbers[2]);
        let start = iterator(&service, &arn, &kind);
        let body = service.ok("GetRecords", &format!(r#"{{"ShardIterator":"{start}"}}"#));
        assert_eq!(body.matches("eventID").count(), left);
    }
}

#[test]
fn an_expired_item_is_removed_by_the_service_principal() {
    let (service, arn) = with_stream("KEYS_ONLY");
    service.ok(
        "UpdateTimeToLive",
        r#"{"TableName":"feed","TimeToLiveSpecification":{"AttributeName":"end","Enabled":true}}"#,
    );
    let now = keyloom_store::Clock::now(&service.clock).secs();
    service.ok(
        "PutItem",
        &format!(r#"{{"TableName":"feed","Item":{{"id":{{"S":"1"}},"end":{{"N":"{now}"}}}}}}"#),
    );
    service.clock.advance_ms(10_000);
    service.store.expire();
    let start = iterator(&service, &arn, r#""ShardIteratorType":"TRIM_HORIZON""#);
    let body = service.ok("GetRecords", &format!(r#"{{"ShardIterator":"{start}"}}"#));
    assert!(
        body.contains(
            r#""userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}"#
        ),
        "{body}"
    );
}

#[test]
fn streams_are_listed_disabled_and_enabled() {
    let (service, arn) = with_stream("KEYS_ONLY");
    let body = service.ok("ListStreams", "{}");
    assert_eq!(member(&body, "StreamArn"), arn);
    service
        .ok("UpdateTable", r#"{"TableName":"feed","StreamSpecification":{"StreamEnabled":false}}"#);
    // It can be read for another day.
    assert_eq!(member(&service.ok("ListStreams", "{}"), "StreamArn"), arn);
    service.clock.advance_ms(5);
    service.ok("UpdateTable", r#"{"TableName":"feed","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}"#);
    let body = service.ok("DescribeTable", r#"{"TableName":"feed"}"#);
    assert_ne!(member(&body, "LatestStreamArn"), arn, "a new stream has a new label");
    service.check(&[
        ("GetRecords", r#"{"ShardIterator":"x"}"#, "!ValidationException: Invalid ShardIterator"),
        ("DescribeStream", r#"{"StreamArn":"x"}"#, "!ValidationException: Invalid StreamArn: x"),
        (
            "UpdateTable",
            r#"{"TableName":"feed","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}"#,
            "!ValidationException: Table already has an enabled stream: TableName: feed",
        ),
    ]);
}
