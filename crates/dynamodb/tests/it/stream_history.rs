//! Streams of tables beside another one that changes much: on the engine, whose tables share a log.

use std::path::Path;
use std::sync::Arc;

use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_store::{
    Background, Engine, KeySchema, KeyType, Options, Put, Store, TableName, TableSpec,
};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::{Item, Value};
use pollster::block_on;

use crate::service::member;

/// More than two pages of the engine's feed.
const HISTORY_BYTES: usize = 36 << 20;
const ITEM_BYTES: usize = 390_000;

struct Beside {
    engine: Arc<Engine>,
    endpoint: Endpoint,
    other: TableName,
}

impl Beside {
    fn new() -> Beside {
        let clock = Arc::new(ManualClock::new());
        let options = Options {
            background: Background::Manual,
            clock: clock.clone(),
            disk: Arc::new(SimDisk::new(0)),
            ..Options::default()
        };
        let engine = Arc::new(Engine::open(Path::new("/data"), options).unwrap());
        let other = TableName::new("other").unwrap();
        let spec = TableSpec::new(other.clone(), KeySchema::partition("id", KeyType::N));
        block_on(engine.create_table(spec)).unwrap();
        let options = EndpointOptions { clock, ..EndpointOptions::default() };
        Beside { endpoint: Endpoint::new(engine.clone(), options), engine, other }
    }

    /// Changes the other table.
    fn change_much(&self) {
        let text = "x".repeat(ITEM_BYTES);
        for id in 0..HISTORY_BYTES / ITEM_BYTES {
            let id = Value::from(u64::try_from(id).unwrap());
            let item = Item::from([("id", id), ("text", Value::from(text.as_str()))]);
            block_on(self.engine.put(Put::new(&self.other, item))).unwrap();
        }
    }

    fn ok(&self, service: &str, operation: &str, body: &str) -> String {
        let target = format!("{service}_20120810.{operation}");
        let reply = block_on(self.endpoint.call(&target, body.as_bytes()));
        assert_eq!(reply.status, 200, "{operation} {body}: {}", reply.body);
        reply.body
    }

    fn put(&self, id: &str) {
        let item = format!(r#"{{"TableName":"feed","Item":{{"id":{{"S":"{id}"}}}}}}"#);
        self.ok("DynamoDB", "PutItem", &item);
    }

    /// Creates a table with a stream; returns an iterator at its beginning.
    fn stream(&self) -> String {
        let table = self.ok("DynamoDB", "CreateTable", r#"{"TableName":"feed","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}"#);
        let arn = format!(r#""StreamArn":"{}""#, member(&table, "LatestStreamArn"));
        let stream = self.ok("DynamoDBStreams", "DescribeStream", &format!("{{{arn}}}"));
        let from = format!(
            r#""ShardId":"{}","ShardIteratorType":"TRIM_HORIZON""#,
            member(&stream, "ShardId")
        );
        let got = self.ok("DynamoDBStreams", "GetShardIterator", &format!("{{{arn},{from}}}"));
        member(&got, "ShardIterator").to_owned()
    }

    /// The response to one GetRecords.
    fn records(&self, iterator: &str) -> String {
        self.ok("DynamoDBStreams", "GetRecords", &format!(r#"{{"ShardIterator":"{iterator}"}}"#))
    }
}

#[test]
fn the_first_read_finds_what_is_after_much_that_changed_elsewhere() {
    let beside = Beside::new();
    beside.change_much();
    let iterator = beside.stream();
    beside.put("a");
    let first = beside.records(&iterator);
    assert!(first.contains(r#""S":"a""#), "a new stream begins where it was enabled: {first}");
    let iterator = member(&first, "NextShardIterator");
    beside.change_much();
    beside.put("b");
    let second = beside.records(iterator);
    assert!(second.contains(r#""S":"b""#), "{second}");
    let last = beside.records(member(&second, "NextShardIterator"));
    assert!(last.starts_with(r#"{"Records":[],"#), "{last}");
}
