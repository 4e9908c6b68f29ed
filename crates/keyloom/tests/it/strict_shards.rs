//! What one list, and the posting lists of one kind, take of writes on a store with a limit for each
//! partition.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keyloom::{Clock, Db};
use serde_json::json;

use crate::strict_rig::{SharedTable, Task, rules};

/// What a partition takes in a second: few, so that simulated time stays short.
const WRITE_UNITS: f64 = 40.0;
const SECONDS: u64 = 5;
const WRITERS: usize = 32;

fn table() -> SharedTable {
    let mut rules = rules();
    rules.seed = 3;
    rules.write_units = WRITE_UNITS;
    rules.partitions = 512;
    rules.burst = Duration::from_millis(500);
    rules.split_after = Duration::from_secs(3_600);
    SharedTable::new(rules)
}

/// A model of notes in a list, with this many shards.
fn model(shards: u32) -> String {
    let own = if shards > 1 { format!("shards = {shards}") } else { String::new() };
    format!(
        r#"
[entity.note]
{own}
fields.rank = "int"
list.ranked = {{ order = "rank" }}
"#
    )
}

/// Writes with many writers as fast as the table takes it. Returns how many it takes in a second.
fn rate<'w>(table: &'w SharedTable, write: impl Fn(usize, usize) -> Task<'w>) -> f64 {
    let (clock, done, write) = (&table.clock, AtomicUsize::new(0), &write);
    let end = clock.now().0 + SECONDS * 1_000;
    let writer = |writer: usize| -> Task<'_> {
        let done = &done;
        Box::pin(async move {
            for number in 0.. {
                write(writer, number).await;
                if clock.now().0 >= end {
                    return;
                }
                done.fetch_add(1, Ordering::Relaxed);
                clock.sleep(Duration::from_millis(5)).await;
            }
        })
    };
    table.run((0..WRITERS).map(writer).collect());
    done.load(Ordering::Relaxed) as f64 / SECONDS as f64
}

fn creates_per_second(shards: u32) -> f64 {
    let table = table();
    let connection = table.connect();
    let db: Db = table.one(connection.open(&model(shards)));
    let create = |writer: usize, number: usize| -> Task<'_> {
        let (db, rank) = (db.clone(), (number * 7 + writer) % 50);
        Box::pin(async move {
            db.create("note", &json!({ "rank": rank })).await.expect("it is created");
        })
    };
    let rate = rate(&table, create);
    let page = table.one(db.list("note", "ranked").limit(1_000).read()).expect("a page");
    let ids: BTreeSet<&str> = page.items.iter().map(keyloom::Record::id).collect();
    assert!(ids.len() == page.items.len() && ids.len() as f64 >= rate * SECONDS as f64);
    rate
}

/// How many rows one partition takes in a second if each takes two units, as in transactions. It has
/// the units of one second to begin with.
const ONE_PARTITION: f64 = WRITE_UNITS / 2.0 * (SECONDS + 1) as f64 / SECONDS as f64;

#[test]
fn more_entities_are_created_in_a_list_in_shards_than_one_partition_takes() {
    let (whole, sharded) = (creates_per_second(1), creates_per_second(8));
    assert!((ONE_PARTITION * 0.8..=ONE_PARTITION * 1.1).contains(&whole), "{whole} a second");
    assert!(sharded > ONE_PARTITION * 4.0, "{sharded} a second, {whole} in one partition");
}

#[test]
fn more_tagged_writes_are_taken_than_one_partition_of_deltas_takes() {
    let table = table();
    let connection = table.connect();
    let tagged = "[entity.note]\nid = \"given\"\nshards = 16\nfields.tags = \"tags = {}\"";
    let db: Db = table.one(connection.open(tagged));
    let put = |writer: usize, number: usize| -> Task<'_> {
        let (db, id) = (db.clone(), format!("{writer}-{}", number % 9));
        let color = if number.is_multiple_of(2) { "red" } else { "blue" };
        let tags = json!({ "tags": { "color": color } });
        Box::pin(async move {
            db.put("note", &id, &tags).await.expect("it is written");
        })
    };
    let rate = rate(&table, put);
    assert!(rate > ONE_PARTITION * 2.5, "{rate} a second, {ONE_PARTITION} in one partition");
    assert!(rate <= ONE_PARTITION * 4.0 * 1.1, "{rate} a second");
}

/// Under another number of shards, an entity may have another partition. While an index lags, it has
/// the entity in both, or in none.
#[test]
fn no_entity_is_listed_twice_while_an_index_catches_up_with_other_shards() {
    let mut rules = rules();
    rules.seed = 9;
    rules.index_lag = Duration::from_secs(4);
    let table = SharedTable::new(rules);
    let connection = table.connect();
    let db = table.one(connection.open(&model(4)));
    for rank in 0..40 {
        table.one(db.create("note", &json!({ "rank": rank % 5 }))).expect("it is created");
    }
    let clock = &table.clock;
    let mut is_short = 0;
    for shards in [3, 5, 1, 6] {
        table.one(clock.sleep(Duration::from_secs(10)));
        let db = table.one(table.connect().open(&model(shards)));
        table.one(db.backfill(|_| {})).expect("it is filled");
        for _ in 0..8 {
            let page = table.one(db.list("note", "ranked").limit(100).read()).expect("a page");
            let ids: BTreeSet<&str> = page.items.iter().map(keyloom::Record::id).collect();
            assert_eq!(ids.len(), page.items.len(), "{shards} shards");
            is_short += usize::from(ids.len() < 40);
            table.one(clock.sleep(Duration::from_millis(700)));
        }
        let page = table.one(db.list("note", "ranked").limit(100).read()).expect("a page");
        assert_eq!(page.items.len(), 40, "{shards} shards");
    }
    assert!(is_short > 0, "the index lags");
}
