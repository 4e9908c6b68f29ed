//! How many creates a second a shared table takes when all of them touch the same product, with and
//! without shards: two processes in strict mode, in simulated time.

use std::time::Duration;

use keyloom::{Clock, Error};
use serde_json::json;

use crate::rig::findings;
use crate::strict_rig::{SharedTable, Task, rules};

const PLAIN: &str = r#"
[entity.product]
id = "given"
reference_shards = 8

[entity.comment]
id = "given"
parent = "product"
fields.language = "text"
fields.rating   = "int 1..5"
fields.created  = "time = now"
list.by_product  = { by = "product", order = "-created", shards = 8 }
count.by_product = { by = "product", split = ["language", "rating"], shards = 8 }
board.leaders    = { of = "product", where = { rating = 5 }, shards = 8 }
"#;

/// Clients of each process, each of which sends one request after the other.
const CLIENTS: usize = 32;
/// How long a transaction takes on average. Its rows conflict with other transactions meanwhile.
const TRANSACTION: Duration = Duration::from_millis(9);
const SHARDS: f64 = 8.0;

/// Creates comments of one product, and returns how many a second.
fn rate(model: &str, processes: usize, creates: usize) -> f64 {
    let mut rules = rules();
    rules.latency = TRANSACTION / 3;
    // A table that has been busy for long.
    rules.partitions = 64;
    let table = SharedTable::new(rules);
    let connections: Vec<_> = (0..processes).map(|_| table.connect()).collect();
    let dbs: Vec<_> =
        connections.iter().map(|connection| table.one(connection.open(model))).collect();
    table.one(dbs[0].create("product", &json!({ "id": "hot" }))).expect("a product");
    let began = table.clock.now();
    let mut tasks: Vec<Task<'_>> = vec![];
    for client in 0..CLIENTS {
        for (place, db) in dbs.iter().enumerate() {
            tasks.push(Box::pin(async move {
                for number in 0..creates {
                    let id = format!("{place}-{client}-{number}");
                    let comment =
                        json!({ "id": id, "product": "hot", "language": "en", "rating": 5 });
                    // What a client does that is told to retry.
                    while let Err(error) = db.create("comment", &comment).await {
                        assert!(matches!(error, Error::Contended), "{error}");
                    }
                }
            }));
        }
    }
    table.run(tasks);
    let seconds = (table.clock.now().0 - began.0) as f64 / 1000.0;
    let count = processes * CLIENTS * creates;
    let counted = table.one(dbs[0].count("comment", "by_product").by("product", "hot").total());
    assert_eq!(counted.expect("counted"), count as u64);
    table.one(dbs[0].settle_scores()).expect("settled");
    let best = table.one(dbs[0].board("leaders").rank("hot")).expect("it is read");
    assert_eq!(best.and_then(|best| best.score.to_i64()), Some(count as i64));
    assert_eq!(table.one(findings(&dbs[0])), [""; 0]);
    count as f64 / seconds
}

/// A row that every create touches takes one transaction after the other; with shards there are so many
/// of them. Two processes conflict, and still come close.
#[test]
fn comments_on_one_product_are_written_at_the_rate_that_their_rows_allow() {
    let without = PLAIN.replace(", shards = 8", "").replace("reference_shards = 8\n", "");
    let of_a_row = 1.0 / TRANSACTION.as_secs_f64();
    let rates = [
        ("without shards, one process", rate(&without, 1, 6), of_a_row),
        ("without shards, two processes", rate(&without, 2, 4), of_a_row),
        ("with shards, one process", rate(PLAIN, 1, 30), of_a_row * SHARDS),
        ("with shards, two processes", rate(PLAIN, 2, 20), of_a_row * SHARDS),
    ];
    println!("creates a second, and what rows allow: {rates:.0?}");
    for (case, rate, ceiling) in rates {
        assert!(rate > 0.65 * ceiling, "{case}: {rate:.0} of {ceiling:.0}");
    }
}
