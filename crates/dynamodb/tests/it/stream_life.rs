//! Streams that are disabled and enabled again, and their shards.

use crate::service::{Service, member};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn with_stream() -> (Service, String) {
    let service = Service::new();
    let body = service.ok("CreateTable", r#"{"TableName":"feed","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}"#);
    let arn = member(&body, "LatestStreamArn").to_owned();
    (service, arn)
}

fn put(service: &Service, id: &str) {
    service.ok("PutItem", &format!(r#"{{"TableName":"feed","Item":{{"id":{{"S":"{id}"}}}}}}"#));
}

fn shard(service: &Service, arn: &str) -> String {
    let body = service.ok("DescribeStream", &format!(r#"{{"StreamArn":"{arn}"}}"#));
    member(&body, "ShardId").to_owned()
}

fn first_iterator(service: &Service, arn: &str) -> String {
    let shard = shard(service, arn);
    let body = service.ok(
        "GetShardIterator",
        &format!(
            r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"TRIM_HORIZON"}}"#
        ),
    );
    member(&body, "ShardIterator").to_owned()
}

/// Reads a stream from its beginning; returns the ids in it, and whether its shard has ended.
fn read(service: &Service, arn: &str) -> (Vec<String>, bool) {
    let (mut ids, mut next) = (Vec::new(), first_iterator(service, arn));
    for _ in 0..10 {
        let body = service.ok("GetRecords", &format!(r#"{{"ShardIterator":"{next}","Limit":2}}"#));
        let keys = body.split(r#""Keys":{"id":{"S":""#).skip(1);
        ids.extend(keys.map(|rest| rest.split('"').next().unwrap().to_owned()));
        if !body.contains("NextShardIterator") {
            return (ids, true);
        }
        next = member(&body, "NextShardIterator").to_owned();
    }
    (ids, false)
}

fn disable(service: &Service) {
    service
        .ok("UpdateTable", r#"{"TableName":"feed","StreamSpecification":{"StreamEnabled":false}}"#);
}

fn enable(service: &Service) -> String {
    let body = service.ok("UpdateTable", r#"{"TableName":"feed","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}"#);
    member(&body, "LatestStreamArn").to_owned()
}

#[test]
fn a_disabled_stream_is_readable_for_a_day_and_ends() {
    let (service, first) = with_stream();
    ["a", "b", "c"].iter().for_each(|id| put(&service, id));
    let iterator = first_iterator(&service, &first);
    disable(&service);
    put(&service, "unseen");
    service.clock.advance_ms(1000);
    let second = enable(&service);
    assert_ne!(first, second);
    put(&service, "d");
    assert_eq!(read(&service, &first), (vec!["a".into(), "b".into(), "c".into()], true));
    assert_eq!(read(&service, &second), (vec!["d".into()], false));
    let body = service.ok("DescribeStream", &format!(r#"{{"StreamArn":"{first}"}}"#));
    assert_eq!(member(&body, "StreamStatus"), "DISABLED");
    assert!(body.contains("EndingSequenceNumber"), "{body}");
    let listed = service.ok("ListStreams", r#"{"TableName":"feed"}"#);
    assert!(listed.contains(&first) && listed.contains(&second), "{listed}");
    service.clock.advance_ms(DAY_MS);
    let gone = format!(
        "!ResourceNotFoundException: Requested resource not found: Stream: {first} not found"
    );
    service.check(&[
        ("DescribeStream", &format!(r#"{{"StreamArn":"{first}"}}"#), &gone),
        ("GetRecords", &format!(r#"{{"ShardIterator":"{iterator}"}}"#), &gone),
    ]);
    assert_eq!(read(&service, &second).0, ["d"]);
}

#[test]
fn recording_stops_a_day_after_the_last_stream() {
    let (service, first) = with_stream();
    disable(&service);
    let table = service.ok("DescribeTable", r#"{"TableName":"feed"}"#);
    assert!(!table.contains("StreamSpecification") && table.contains(&first), "{table}");
    service.check(&[(
        "UpdateTable",
        r#"{"TableName":"feed","StreamSpecification":{"StreamEnabled":false}}"#,
        "!ValidationException: Table has no stream to disable: TableName: feed",
    )]);
    service.clock.advance_ms(DAY_MS);
    assert_eq!(service.ok("ListStreams", "{}"), r#"{"Streams":[]}"#);
    let name = keyloom_store::TableName::new("feed").unwrap();
    let table = pollster::block_on(keyloom_store::Read::describe_table(&*service.store, name));
    assert_eq!(table.unwrap().spec.feed, keyloom_store::Feed::Off);
    put(&service, "unseen");
    let second = enable(&service);
    put(&service, "e");
    assert_eq!(read(&service, &second).0, ["e"]);
}

#[test]
fn shards_are_listed_after_another_and_by_their_parent() {
    let (service, arn) = with_stream();
    let shard = shard(&service, &arn);
    let describe = |rest: &str| {
        let body = service.ok("DescribeStream", &format!(r#"{{"StreamArn":"{arn}"{rest}}}"#));
        body.matches("ShardId").count()
    };
    assert_eq!(describe(r#","Limit":1"#), 1);
    assert_eq!(describe(r#","ExclusiveStartShardId":"shardId-00000000000000000000""#), 1);
    assert_eq!(describe(&format!(r#","ExclusiveStartShardId":"{shard}""#)), 0);
    assert_eq!(describe(r#","ExclusiveStartShardId":"zzzzzzzzzzzzzzzzzzzzzzzzzzzz""#), 0);
    assert_eq!(
        describe(&format!(r#","ShardFilter":{{"Type":"CHILD_SHARDS","ShardId":"{shard}"}}"#)),
        0
    );
    service.check(&[
        (
            "DescribeStream",
            &format!(r#"{{"StreamArn":"{arn}","ShardFilter":{{"Type":"X","ShardId":"{shard}"}}}}"#),
            "!ValidationException: 1 validation error detected: Value 'X' at 'shardFilter.type' failed to satisfy constraint: Member must satisfy enum value set: [CHILD_SHARDS]",
        ),
        (
            "DescribeStream",
            &format!(r#"{{"StreamArn":"{arn}","Limit":0}}"#),
            "!ValidationException: 1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
        ),
        (
            "GetShardIterator",
            &format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"LATEST","SequenceNumber":"000000000000000000001"}}"#),
            "!ValidationException: Invalid SequenceNumber: it must not be specified when ShardIteratorType is LATEST",
        ),
        (
            "ListStreams",
            r#"{"ExclusiveStartStreamArn":"nonsense"}"#,
            "!ValidationException: Invalid StreamArn: nonsense",
        ),
    ]);
}

/// The lengths in the service's model of DynamoDB Streams, which botocore has.
#[test]
fn ids_and_sequence_numbers_have_the_lengths_of_the_services_model() {
    let (service, arn) = with_stream();
    let shard = shard(&service, &arn);
    let iterator = format!(r#""ShardId":"{shard}","ShardIteratorType":"AT_SEQUENCE_NUMBER","#);
    let parameters = [
        ("DescribeStream", "exclusiveStartShardId", r#""ExclusiveStartShardId":"$""#, 28..=65),
        ("DescribeStream", "shardFilter.shardId", r#""ShardFilter":{"ShardId":"$"}"#, 28..=65),
        ("GetShardIterator", "shardId", r#""ShardId":"$","ShardIteratorType":"LATEST""#, 28..=65),
        (
            "GetShardIterator",
            "sequenceNumber",
            &format!(r#"{iterator}"SequenceNumber":"$""#),
            21..=40,
        ),
    ];
    for (operation, at, parameter, lengths) in parameters {
        let (least, most) = lengths.into_inner();
        let response = |length: usize| {
            let parameter = parameter.replace('$', &"1".repeat(length));
            service.call(operation, &format!(r#"{{"StreamArn":"{arn}",{parameter}}}"#)).body
        };
        for allowed in [least, most] {
            assert!(!response(allowed).contains("failed to satisfy constraint"), "{at} {allowed}");
        }
        for (length, bound, limit) in [(least - 1, "greater", least), (most + 1, "less", most)] {
            let expected = format!(
                "1 validation error detected: Value '{}' at '{at}' failed to satisfy constraint: \
                 Member must have length {bound} than or equal to {limit}",
                "1".repeat(length)
            );
            let found = response(length);
            assert!(found.contains(&expected), "{found}");
        }
    }
}

/// ARNs do not sort as the names in them do.
#[test]
fn every_stream_is_on_one_page() {
    let service = Service::new();
    for name in ["aaa", "aaa-b", "aaa.c", "aaa0"] {
        service.ok("CreateTable", &format!(r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"id","AttributeType":"S"}}],"KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}],"StreamSpecification":{{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}}}"#));
    }
    let (mut found, mut after) = (Vec::new(), String::new());
    for _ in 0..10 {
        let body = service.ok("ListStreams", &format!(r#"{{"Limit":1{after}}}"#));
        found.push(member(&body, "TableName").to_owned());
        if !body.contains("LastEvaluatedStreamArn") {
            break;
        }
        after =
            format!(r#","ExclusiveStartStreamArn":"{}""#, member(&body, "LastEvaluatedStreamArn"));
    }
    found.sort();
    assert_eq!(found, ["aaa", "aaa-b", "aaa.c", "aaa0"]);
}
