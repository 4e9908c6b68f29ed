//! Strict mode, under simulated time: what the service does under load.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use keyloom_dynamodb::{Endpoint, EndpointOptions, Strict, StrictOptions};
use keyloom_store::{
    Alteration, CancelReason, Clock, Consistency, Error, Feed, IndexProjection, IndexScope,
    IndexSpec, KeySchema, KeyType, MemoryStore, Put, Query, Read, Store, TableName, TableSpec,
    TransactAction, TransactWrite,
};
use keyloom_testkit::SimClock;
use keyloom_value::{Item, KeyCondition, Value};
use pollster::block_on;
use serde_json::{Value as Json, json};

/// A table `things` with the key `id` and a global index `by_kind`, in strict mode.
struct Rig {
    clock: SimClock,
    strict: Arc<Strict>,
    table: TableName,
}

type Task<'t, T> = Pin<Box<dyn Future<Output = T> + 't>>;

/// What a partition has in these tests, a tenth of what it has on the service: a memory store takes
/// time by the number of its items.
const WRITE_UNITS: f64 = 100.0;

/// Without lag, because a snapshot of a memory store is a copy of it.
fn calm() -> StrictOptions {
    let mut options = StrictOptions::default();
    options.write_units = WRITE_UNITS;
    options.burst = Duration::ZERO;
    options.create_time = Duration::ZERO;
    options.index_lag = Duration::ZERO;
    options.replica_lag = Duration::ZERO;
    options
}

fn by_kind() -> IndexSpec {
    IndexSpec {
        name: TableName::new("by_kind").unwrap(),
        scope: IndexScope::Global,
        key: KeySchema::partition("kind", KeyType::S).and_sort("id", KeyType::N),
        projection: IndexProjection::Keys,
    }
}

impl Rig {
    fn new(options: StrictOptions) -> Rig {
        let clock = SimClock::new();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let strict = Arc::new(Strict::new(store, Arc::new(clock.clone()), options));
        let table = TableName::new("things").unwrap();
        let mut spec = TableSpec::new(table.clone(), KeySchema::partition("id", KeyType::N));
        spec.indexes.push(by_kind());
        spec.feed = Feed::Images;
        block_on(strict.create_table(spec)).unwrap();
        Rig { clock, strict, table }
    }

    fn put(&self, id: i64, kind: &str) -> Put {
        Put::new(&self.table, Item::from([("id", Value::from(id)), ("kind", Value::from(kind))]))
    }

    /// Runs writers that write what `item` says, again and again, for some seconds. Returns how many
    /// writes a second succeeded.
    fn writes_per_second(
        &self,
        writers: i64,
        seconds: u64,
        item: impl Fn(i64, u64) -> (i64, String),
    ) -> f64 {
        let end = self.clock.now().0 + seconds * 1000;
        let writer = |writer: i64| -> Task<'_, u64> {
            let item = &item;
            Box::pin(async move {
                let mut done = 0;
                while self.clock.now().0 < end {
                    let (id, kind) = item(writer, done);
                    match self.strict.put(self.put(id, &kind)).await {
                        Ok(_) => done += 1,
                        Err(Error::Refused(_)) => {
                            self.clock.sleep(Duration::from_millis(100)).await;
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                done
            })
        };
        let done: u64 = self.clock.run((0..writers).map(writer).collect()).into_iter().sum();
        done as f64 / seconds as f64
    }

    /// Sends a put more often than any capacity admits, and returns why one of them was refused.
    fn refusal_of(&self, put: &Put) -> keyloom_store::Refusal {
        let send = |_| -> Task<'_, _> { self.strict.put(put.clone()) };
        let puts = (0..300).map(send).collect();
        let mut refused = self.clock.run(puts).into_iter().filter_map(Result::err);
        match refused.next() {
            Some(Error::Refused(refusal)) => (*refusal).clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The ids in the index, as an eventual read sees them now.
    fn ids_of(&self, kind: &str) -> Vec<i64> {
        let mut query = Query::new(&self.table, KeyCondition::equal("kind", kind));
        query.index = Some(by_kind().name);
        query.consistency = Consistency::Eventual;
        let page = self.clock.run(vec![self.strict.query(query)]).remove(0).unwrap();
        page.items
            .iter()
            .map(|item| item.get("id").unwrap().as_n().unwrap().to_i64().unwrap())
            .collect()
    }
}

#[test]
fn one_key_takes_what_one_partition_has() {
    let rig = Rig::new(calm());
    let rate = rig.writes_per_second(50, 10, |_, _| (7, "a".to_owned()));
    assert!((0.95..=1.15).contains(&(rate / WRITE_UNITS)), "{rate}");
    let refusal = rig.refusal_of(&rig.put(7, "a"));
    assert_eq!(refusal.code.as_deref(), Some("ProvisionedThroughputExceededException"));
    assert_eq!(refusal.resource.as_deref(), Some("table/things"));
}

#[test]
fn many_keys_take_what_all_partitions_have() {
    let rig = Rig::new(calm());
    // As many kinds as keys: the index has as many partitions as the table.
    let rate = rig.writes_per_second(100, 8, |writer, done| {
        let id = writer * 1_000_000 + done as i64;
        (id, format!("kind {id}"))
    });
    assert!((3.8..=4.6).contains(&(rate / WRITE_UNITS)), "{rate}");
}

#[test]
fn an_index_with_one_hot_key_throttles_its_table() {
    let rig = Rig::new(calm());
    let rate = rig.writes_per_second(100, 8, |writer, done| {
        (writer * 1_000_000 + done as i64, "the same".to_owned())
    });
    assert!((0.95..=1.15).contains(&(rate / WRITE_UNITS)), "{rate}");
    let refusal = rig.refusal_of(&rig.put(-1, "the same"));
    assert_eq!(refusal.resource.as_deref(), Some("table/things/index/by_kind"));
}

#[test]
fn what_was_unused_serves_a_burst() {
    let mut options = calm();
    options.burst = Duration::from_secs(300);
    options.write_units = 10.0;
    let rig = Rig::new(options);
    rig.clock.run(vec![rig.clock.sleep(Duration::from_secs(400))]);
    let rate = rig.writes_per_second(50, 2, |_, _| (7, "a".to_owned()));
    assert!((1400.0..=1600.0).contains(&rate), "{rate}");
}

/// A row that every write touches allows about a hundred transactions a second.
#[test]
fn four_hundred_transactions_on_one_item_take_turns() {
    let mut options = calm();
    options.write_units = 1000.0;
    let rig = Rig::new(options);
    let end = rig.clock.now().0 + 20_000;
    let writer = |writer: i64| -> Task<'_, (u64, u64)> {
        let rig = &rig;
        Box::pin(async move {
            let (mut done, mut canceled) = (0, 0);
            while rig.clock.now().0 < end {
                let own = TransactAction::Put(rig.put(writer, "a"));
                let shared = TransactAction::Put(rig.put(-1, "a"));
                let transaction = TransactWrite::new(vec![own, shared]);
                match rig.strict.transact_write(transaction).await {
                    Ok(()) => done += 1,
                    Err(Error::Canceled { reasons }) => {
                        // The shared item conflicts, the own one never does.
                        assert!(matches!(
                            &reasons[..],
                            [None, Some(CancelReason::Refused(refusal))]
                                if refusal.code.as_deref() == Some("TransactionConflict")
                        ));
                        canceled += 1;
                        rig.clock.sleep(Duration::from_millis(40)).await;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            (done, canceled)
        })
    };
    let counts = rig.clock.run((0..400).map(writer).collect());
    let done: u64 = counts.iter().map(|(done, _)| done).sum();
    let canceled: u64 = counts.iter().map(|(_, canceled)| canceled).sum();
    assert!((60..=100).contains(&(done / 20)), "{done}");
    assert!(canceled > 10 * done);
}

#[test]
fn a_single_write_meets_a_transaction() {
    let rig = Rig::new(calm());
    let transaction = TransactWrite::new(vec![TransactAction::Put(rig.put(1, "a"))]);
    let results: Vec<Result<(), Error>> = rig.clock.run(vec![
        Box::pin(async { rig.strict.transact_write(transaction).await }) as Task<'_, _>,
        Box::pin(async { rig.strict.put(rig.put(1, "b")).await.map(drop) }),
        Box::pin(async { rig.strict.put(rig.put(2, "b")).await.map(drop) }),
    ]);
    assert!(results[0].is_ok() && results[2].is_ok());
    let Err(Error::Refused(refusal)) = &results[1] else { panic!("{:?}", results[1]) };
    assert_eq!(refusal.code.as_deref(), Some("TransactionConflictException"));
}

/// Each read of an index shows what was written up to some moment, which is at most the lag ago.
#[test]
fn an_index_lags_behind_its_table() {
    let mut options = calm();
    options.index_lag = Duration::from_millis(200);
    let rig = Rig::new(options);
    let (mut written, mut is_behind) = (vec![], 0);
    for id in 0..300 {
        rig.clock.run(vec![rig.strict.put(rig.put(id, "a"))]).remove(0).unwrap();
        written.push((rig.clock.now().0, id));
        let asked = rig.clock.now().0;
        let seen = rig.ids_of("a");
        let prefix: Vec<i64> = (0..seen.len() as i64).collect();
        assert_eq!(seen, prefix, "a moment of the past");
        let old = written.iter().filter(|(at, _)| at + 210 < asked).count();
        assert!(seen.len() >= old);
        is_behind += usize::from(seen.len() < written.len());
    }
    assert!(is_behind > 100, "{is_behind}");
    rig.clock.run(vec![rig.clock.sleep(Duration::from_secs(1))]);
    assert_eq!(rig.ids_of("a").len(), 300);
}

#[test]
fn indexes_are_created_one_at_a_time_and_take_a_while() {
    let mut options = calm();
    options.create_time = Duration::from_secs(5);
    let rig = Rig::new(options);
    let sleep = |ms| rig.clock.run(vec![rig.clock.sleep(Duration::from_millis(ms))]);
    assert_eq!(rig.strict.table_status(&rig.table), "CREATING");
    let put = block_on(rig.strict.put(rig.put(1, "a")));
    assert!(matches!(put, Err(Error::TableNotFound { .. })));
    sleep(5_000);
    assert_eq!(rig.strict.table_status(&rig.table), "ACTIVE");
    let add = |name: &str| {
        let index = IndexSpec { name: TableName::new(name).unwrap(), ..by_kind() };
        let code = |error| match error {
            Error::Refused(refusal) => refusal.code.clone().unwrap(),
            other => panic!("{other}"),
        };
        let added = rig.strict.alter_table(rig.table.clone(), Alteration::AddIndex(index));
        block_on(added).map(drop).map_err(code)
    };
    add("one").unwrap();
    assert_eq!(add("two"), Err("LimitExceededException".to_owned()));
    assert_eq!(rig.strict.table_status(&rig.table), "UPDATING");
    let mut query = Query::new(&rig.table, KeyCondition::equal("kind", "a"));
    query.index = Some(TableName::new("one").unwrap());
    let early = rig.clock.run(vec![rig.strict.query(query.clone())]).remove(0);
    assert!(matches!(early, Err(Error::IndexBuilding { .. })));
    sleep(5_000);
    assert!(rig.clock.run(vec![rig.strict.query(query)]).remove(0).is_ok());
    add("two").unwrap();
    assert!(block_on(rig.strict.drop_table(rig.table.clone())).is_err());
    sleep(5_000);
    block_on(rig.strict.drop_table(rig.table.clone())).unwrap();
    assert_eq!(rig.strict.table_status(&rig.table), "DELETING");
    assert!(block_on(rig.strict.describe_table(rig.table.clone())).is_ok());
    let again = TableSpec::new(rig.table.clone(), KeySchema::partition("id", KeyType::N));
    let refused = block_on(rig.strict.create_table(again.clone())).unwrap_err();
    assert!(refused.to_string().contains("ResourceInUseException"));
    sleep(5_000);
    let gone = block_on(rig.strict.describe_table(rig.table.clone()));
    assert!(matches!(gone, Err(Error::TableNotFound { .. })));
    block_on(rig.strict.create_table(again)).unwrap();
}

#[test]
fn the_same_seed_gives_the_same_results() {
    let run = |seed| {
        let mut options = calm();
        options.seed = seed;
        options.write_units = 50.0;
        let rig = Rig::new(options);
        let rate = rig.writes_per_second(20, 5, |writer, done| (writer, format!("{done}")));
        (rate.to_bits(), rig.clock.now(), rig.strict.heat().json())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// The wire of a strict endpoint.
struct Wire<'r> {
    rig: &'r Rig,
    endpoint: Endpoint,
}

impl Wire<'_> {
    fn new(rig: &Rig) -> Wire<'_> {
        let clock = Arc::new(rig.clock.clone());
        let options = EndpointOptions { clock, ..EndpointOptions::default() };
        Wire { rig, endpoint: Endpoint::strict(rig.strict.clone(), options) }
    }

    fn call(&self, target: &str, body: &Json) -> Json {
        let text = body.to_string();
        let call: Task<'_, _> = Box::pin(self.endpoint.call(target, text.as_bytes()));
        let reply = self.rig.clock.run(vec![call]).remove(0);
        serde_json::from_str(&reply.body).unwrap()
    }

    fn stream(&self, operation: &str, body: &Json) -> Json {
        self.call(&format!("DynamoDBStreams_20120810.{operation}"), body)
    }

    fn arn(&self) -> String {
        let described =
            self.call("DynamoDB_20120810.DescribeTable", &json!({"TableName": "things"}));
        described["Table"]["LatestStreamArn"].as_str().unwrap().to_owned()
    }

    fn shards(&self) -> Vec<Json> {
        let described = self.stream("DescribeStream", &json!({"StreamArn": self.arn()}));
        described["StreamDescription"]["Shards"].as_array().unwrap().clone()
    }

    fn iterator(&self, shard: &str) -> String {
        let body = json!({"StreamArn": self.arn(), "ShardId": shard,
            "ShardIteratorType": "TRIM_HORIZON"});
        self.stream("GetShardIterator", &body)["ShardIterator"].as_str().unwrap().to_owned()
    }

    /// Reads a shard to its end, or to its last record if it is open. Returns the sequence numbers
    /// and ids of its records, and how many pages were empty before the last record.
    fn read(&self, shard: &Json) -> (Vec<(String, String)>, usize) {
        let (mut records, mut empty, mut gap) = (vec![], 0, 0);
        let mut iterator = Some(self.iterator(shard["ShardId"].as_str().unwrap()));
        while let Some(at) = iterator {
            let page = self.stream("GetRecords", &json!({"ShardIterator": at}));
            if page["__type"].as_str().is_some_and(|code| code.contains("LimitExceeded")) {
                self.rig.clock.run(vec![self.rig.clock.sleep(Duration::from_millis(200))]);
                iterator = Some(at);
                continue;
            }
            let found = page["Records"].as_array().unwrap();
            let is_open = shard["SequenceNumberRange"]["EndingSequenceNumber"].is_null();
            gap = if found.is_empty() { gap + 1 } else { 0 };
            empty += usize::from(found.is_empty());
            for record in found {
                let record = &record["dynamodb"];
                let text = |value: &Json| value.as_str().unwrap().to_owned();
                records.push((text(&record["SequenceNumber"]), text(&record["Keys"]["id"]["N"])));
            }
            // An open shard has no end: it has been read when nothing came many times.
            let next = page["NextShardIterator"].as_str().filter(|_| !is_open || gap < 12);
            iterator = next.map(str::to_owned);
        }
        (records, empty)
    }
}

/// Shards close with age and when their partition splits; whoever reads parents first has each
/// change once, and those of an item in order.
#[test]
fn a_stream_of_closed_and_split_shards_has_each_change_once() {
    let mut options = calm();
    options.write_units = 10.0;
    options.split_after = Duration::from_secs(3);
    options.shard_time = Duration::from_secs(30);
    options.empty_pages = 0.3;
    let rig = Rig::new(options);
    let wire = Wire::new(&rig);
    assert_eq!(wire.shards().len(), 4);
    let mut done = 0.0;
    for _ in 0..4 {
        done += 8.0
            * rig
                .writes_per_second(30, 8, |writer, done| (writer % 10, format!("{writer} {done}")));
        wire.shards();
    }
    let shards = wire.shards();
    assert!(shards.len() > 12, "{}", shards.len());
    assert!(shards.iter().any(|shard| shard["ParentShardId"].is_string()));
    let (mut records, mut empty) = (vec![], 0);
    for shard in &shards {
        let (found, pages) = wire.read(shard);
        records.extend(found);
        empty += pages;
    }
    assert_eq!(records.len() as f64, done.round());
    assert!(empty > 0);
    for id in 0..10 {
        let id = id.to_string();
        let of_id = records.iter().filter(|(_, of)| *of == id).map(|(seq, _)| seq);
        assert!(of_id.is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn iterators_expire_after_fifteen_minutes() {
    let rig = Rig::new(calm());
    let wire = Wire::new(&rig);
    let shard = wire.shards()[0]["ShardId"].as_str().unwrap().to_owned();
    let iterator = json!({"ShardIterator": wire.iterator(&shard)});
    let sleep = |minutes: u64| {
        rig.clock.run(vec![rig.clock.sleep(Duration::from_secs(60 * minutes))]);
    };
    sleep(14);
    assert!(wire.stream("GetRecords", &iterator)["Records"].is_array());
    sleep(2);
    let refused = wire.stream("GetRecords", &iterator);
    assert!(refused["__type"].as_str().unwrap().ends_with("#ExpiredIteratorException"));
}

#[test]
fn throttled_answers_name_what_was_throttled() {
    let mut options = calm();
    options.write_units = 1.0;
    let rig = Rig::new(options);
    let wire = Wire::new(&rig);
    rig.refusal_of(&rig.put(7, "a"));
    let item = json!({"TableName": "things", "Item": {"id": {"N": "7"}, "kind": {"S": "a"}}});
    // The first of them takes what little has come since.
    let answers = [(); 2].map(|()| wire.call("DynamoDB_20120810.PutItem", &item));
    let refused = &answers[1];
    assert!(
        refused["__type"].as_str().unwrap().ends_with("#ProvisionedThroughputExceededException")
    );
    let reason = &refused["ThrottlingReasons"][0];
    assert_eq!(reason["reason"], "TableWriteKeyRangeThroughputExceeded");
    assert_eq!(reason["resource"], "arn:aws:dynamodb:us-east-1:000000000000:table/things");
}

#[test]
fn heat_names_the_hot_partition_and_key() {
    let rig = Rig::new(calm());
    rig.writes_per_second(50, 3, |writer, done| match writer {
        0..40 => (7, "a".to_owned()),
        _ => (1000 * writer + done as i64, format!("{writer} {done}")),
    });
    let heat: Json = serde_json::from_str(&rig.strict.heat().json()).unwrap();
    let table = &heat["spaces"][0];
    assert_eq!((&table["table"], &table["index"]), (&json!("things"), &Json::Null));
    assert_eq!(table["keys"][0]["key"], r#"{"id":{"N":"7"}}"#);
    let throttled = table["partitions"].as_array().unwrap().iter();
    let throttled: Vec<&Json> = throttled.filter(|one| one["throttled"] != json!(0)).collect();
    assert_eq!(throttled.len(), 1);
    assert!(throttled[0]["write"]["busiestSecond"].as_f64().unwrap() >= 0.9 * WRITE_UNITS);
    let page = rig.strict.heat().html();
    assert!(page.contains("things › by_kind") && page.contains("class=hot"));
}
