//! Verification on a store that behaves as DynamoDB does under load, beside writers: indexes lag, shards
//! of the stream end and return empty pages, and transactions are in several of them.

use std::collections::BTreeMap;
use std::time::Duration;

use keyloom::{Clock, Db, Error, Finding, Problem, Repair};
use keyloom_model::attribute::{COUNT, PARTITION};
use keyloom_model::is_counter;
use keyloom_store::{Put, Read, Scan};
use keyloom_testkit::{InFront, Random};
use keyloom_value::{Item, Value};
use serde_json::json;

use crate::contents::table;
use crate::strict_rig::{Connection, SharedTable, Task, rules};

const MODEL: &str = r#"
[entity.shop]
id = "given"
fields.name = "text"
unique = ["name"]

[entity.order]
id = "given"
fields.shop   = "ref shop refuse"
fields.amount = "int"
fields.tags   = "tags = {}"
list.by_shop  = { by = "shop", order = "amount" }
count.all     = {}
count.of_shop = { by = "shop" }
board.busy    = { of = "shop" }
board.large   = { rank = "amount" }
"#;

const SHOPS: u64 = 3;

/// A table whose indexes lag by up to two seconds, and whose shards end every five.
fn lagging(seed: u64) -> SharedTable {
    let mut rules = rules();
    rules.seed = seed;
    rules.latency = Duration::from_millis(4);
    rules.index_lag = Duration::from_secs(2);
    rules.replica_lag = Duration::from_millis(200);
    rules.shard_time = Duration::from_secs(5);
    rules.empty_pages = 0.5;
    SharedTable::new(rules)
}

async fn write(db: &Db, clock: &impl Clock, seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..40 {
        let id = format!("o{}", random.below(12));
        let order = json!({"shop": format!("s{}", random.below(SHOPS)), "amount": random.below(400),
            "tags": {"color": *random.pick(&["red", "blue"])}});
        let done = match random.below(4) {
            0 => db.delete("order", &id).await,
            _ => db.put("order", &id, &order).await.map(drop),
        };
        match done {
            Ok(()) | Err(Error::NotFound { .. } | Error::Contended) => {}
            Err(error) => panic!("{error}"),
        }
        clock.sleep(Duration::from_millis(random.below(250))).await;
    }
}

/// The counters that were reported.
fn wrong(findings: &[Finding]) -> BTreeMap<String, i64> {
    let number = |finding: &Finding| match &finding.problem {
        Problem::WrongNumber { row, expected, found } => {
            (row.clone(), found.unwrap_or(0) - expected)
        }
        _ => panic!("{finding}"),
    };
    findings.iter().map(number).collect()
}

/// Makes every third counter larger by one.
async fn damage(connection: &Connection) -> usize {
    let store = InFront(connection.clone());
    let rows = store.scan(Scan::new(&table())).await.unwrap().items;
    let is_one =
        |row: &Item| is_counter(row.get(PARTITION).and_then(Value::as_b).unwrap_or_default());
    let mut count = 0;
    for row in rows.iter().filter(|row| is_one(row)).step_by(3) {
        let mut row = row.clone();
        let value = row.get(COUNT).and_then(|count| count.as_n()?.to_i64()).unwrap();
        row.insert(COUNT, value + 1);
        keyloom_store::Store::put(&store, Put::new(&table(), row)).await.unwrap();
        count += 1;
    }
    count
}

async fn open(connection: &Connection) -> Db {
    let db = connection.open(MODEL).await;
    for shop in 0..SHOPS {
        let shop = format!("s{shop}");
        db.put("shop", &shop, &json!({ "name": shop })).await.unwrap();
    }
    db
}

#[test]
fn nothing_is_found_beside_writers() {
    for seed in 0..6 {
        let table = lagging(seed);
        let connections: Vec<Connection> = (0..3).map(|_| table.connect()).collect();
        let dbs: Vec<Db> = connections.iter().map(|at| table.one(open(at))).collect();
        let clock = table.clock.clone();
        let mut tasks: Vec<Task<'_>> = vec![];
        for (number, db) in dbs.iter().enumerate().skip(1) {
            tasks.push(Box::pin(write(db, &clock, 10 * seed + number as u64)));
        }
        tasks.push(Box::pin(async {
            clock.sleep(Duration::from_millis(300 * seed)).await;
            let found = dbs[0].verify(Repair::No, |_| {}).await.expect("it is verified");
            assert!(found.is_empty(), "seed {seed}: {found:#?}");
        }));
        table.run(tasks);
    }
}

/// What is damaged is found beside writers, and repaired without losing what they add.
#[test]
fn damaged_counters_are_repaired_beside_writers() {
    for seed in 0..6 {
        let table = lagging(seed);
        let connections: Vec<Connection> = (0..3).map(|_| table.connect()).collect();
        let dbs: Vec<Db> = connections.iter().map(|at| table.one(open(at))).collect();
        let clock = table.clock.clone();
        table.one(write(&dbs[0], &clock, 100 + seed));
        let damaged = table.one(damage(&connections[0]));
        assert!(damaged > 3, "{damaged}");
        let found = table.one(dbs[0].verify(Repair::No, |_| {})).expect("it is verified");
        assert!(wrong(&found).len() >= damaged, "seed {seed}: {found:#?}");
        let mut tasks: Vec<Task<'_>> = vec![];
        for (number, db) in dbs.iter().enumerate().skip(1) {
            tasks.push(Box::pin(write(db, &clock, 10 * seed + number as u64)));
        }
        tasks.push(Box::pin(async {
            dbs[0].verify(Repair::Yes, |_| {}).await.expect("it is repaired");
        }));
        table.run(tasks);
        for _ in 0..2 {
            table.one(dbs[0].verify(Repair::Yes, |_| {})).expect("it is repaired");
        }
        let left = table.one(dbs[0].verify(Repair::No, |_| {})).expect("it is verified");
        assert!(left.is_empty(), "seed {seed}: {left:#?}");
    }
}
