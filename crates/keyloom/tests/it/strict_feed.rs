//! Consumers and readers of a feed whose shards end, split and return empty pages while others write.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use keyloom::events::{Effects, Handlers, Position};
use keyloom::live::Changes;
use keyloom::{Change, Clock, Db};
use keyloom_testkit::Random;
use keyloom_value::{Item, Value};
use serde_json::json;

use crate::strict_rig::{Connection, SharedTable, Task, rules};

const MODEL: &str = r#"
[entity.note]
id = "given"
fields.n = "int"
[entity.trail]
id = "given"
fields.seen = "list of int"
[on.note]
insert = "follow"
update = "follow"
"#;

const NOTES: usize = 12;
const WRITES: usize = 180;
const WRITERS: usize = 3;

/// What was written to each note, in order.
type Written = Mutex<BTreeMap<String, Vec<i64>>>;

/// Adds each change of a note to its trail.
fn following() -> Handlers {
    Handlers::new().event_with("follow", |event, db| async move {
        let n = event.new.as_ref().and_then(|new| new.get("n")).cloned().unwrap_or(Value::Null);
        let trail = db.get("trail", &event.id).await?;
        let mut seen = match trail.as_ref().and_then(|trail| trail.get("seen")) {
            Some(Value::L(seen)) => seen.clone(),
            Some(_) | None => vec![],
        };
        seen.push(n);
        let trail = Item::from([("seen", Value::L(seen))]);
        Ok(Effects::new().change(Change::put_item("trail", &event.id, trail)))
    })
}

fn numbers(value: Option<&Value>) -> Vec<i64> {
    let Some(Value::L(seen)) = value else { return vec![] };
    seen.iter().filter_map(|n| n.as_n()?.to_i64()).collect()
}

/// Writes to notes of its own, so that it knows their order.
async fn write(db: &Db, clock: &impl Clock, writer: usize, written: &Written) {
    let mut random = Random::new(writer as u64);
    for n in 0..WRITES {
        let note = format!("{writer}-{}", random.index(NOTES));
        let n = i64::try_from(n).unwrap();
        db.put("note", &note, &json!({ "n": n })).await.unwrap();
        written.lock().unwrap().entry(note).or_default().push(n);
        clock.sleep(Duration::from_millis(random.below(400))).await;
    }
}

/// Follows the feed as `/changes` does, with positions that are text between two reads.
async fn follow(
    db: &Db,
    clock: &impl Clock,
    from: Position,
    is_over: impl Fn(usize) -> bool,
) -> BTreeMap<String, Vec<i64>> {
    let (mut position, mut seen, mut count) = (from.to_string(), BTreeMap::new(), 0);
    let began = clock.now().0;
    while !is_over(count) {
        assert!(clock.now().0 - began < 600_000, "{count} changes came, others are lost");
        let page = db.events(&position.parse().unwrap(), 7).await.unwrap();
        position = page.next.to_string();
        for event in page.events.iter().filter(|event| event.entity == "note") {
            let n = event.new.as_ref().and_then(|new| new.get("n")?.as_n()?.to_i64());
            seen.entry(event.id.clone()).or_insert_with(Vec::new).push(n.unwrap());
            count += 1;
            // Whoever reconnects continues after any event.
            if count % 50 == 0 {
                position = event.position.to_string();
                break;
            }
        }
        clock.sleep(Duration::from_millis(250)).await;
    }
    seen
}

/// Follows the feed with all who share it.
async fn follow_shared(mut changes: Changes, total: usize) -> BTreeMap<String, Vec<i64>> {
    let (mut seen, mut count) = (BTreeMap::new(), 0);
    while count < total {
        let page = changes.next().await.unwrap().expect("nothing is missed");
        for event in page.events.iter().filter(|event| event.entity == "note") {
            let n = event.new.as_ref().and_then(|new| new.get("n")?.as_n()?.to_i64());
            seen.entry(event.id.clone()).or_insert_with(Vec::new).push(n.unwrap());
            count += 1;
        }
    }
    seen
}

async fn work_until(db: &Db, handlers: &Handlers, clock: &impl Clock, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let work = db.work(handlers).await.unwrap();
        assert!(work.problems.is_empty(), "{:?}", work.problems);
        clock.sleep(Duration::from_millis(250)).await;
    }
}

/// Shards end every eight seconds, and when their partition is split for heat.
fn busy() -> SharedTable {
    let mut rules = rules();
    rules.seed = 5;
    rules.partitions = 1;
    rules.shard_time = Duration::from_secs(8);
    rules.write_units = 40.0;
    rules.burst = Duration::ZERO;
    rules.split_after = Duration::from_secs(3);
    rules.empty_pages = 0.5;
    SharedTable::new(rules)
}

#[test]
fn changes_of_an_entity_stay_in_order_while_shards_split() {
    let table = busy();
    let connections: Vec<Connection> = (0..3).map(|_| table.connect()).collect();
    let mut databases = vec![];
    for connection in &connections {
        databases.push(table.one(connection.open(MODEL)));
    }
    let newest = table.one(databases[0].newest_position()).unwrap();
    let changes = table.one(databases[2].changes()).unwrap();
    let (written, handlers) = (Written::default(), [following(), following()]);
    let (is_over, ended) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (clock, followed) = (&table.clock, Mutex::new(BTreeMap::new()));
    let shared = Mutex::new(BTreeMap::new());
    let total = WRITERS * WRITES;
    let mut tasks: Vec<Task<'_>> = vec![];
    for writer in 0..WRITERS {
        let (db, written, ended) = (&databases[0], &written, &ended);
        tasks.push(Box::pin(async move {
            write(db, clock, writer, written).await;
            ended.fetch_add(1, Ordering::Relaxed);
        }));
    }
    // Two processes run the same consumer.
    for (db, handlers) in databases.iter().zip(&handlers) {
        tasks.push(Box::pin(work_until(db, handlers, clock, &is_over)));
    }
    tasks.push(Box::pin(async {
        *shared.lock().unwrap() = follow_shared(changes, total).await;
    }));
    tasks.push(Box::pin(async {
        let seen = follow(&databases[2], clock, newest, |count| count >= total).await;
        *followed.lock().unwrap() = seen;
        assert_eq!(ended.load(Ordering::Relaxed), WRITERS);
        for _ in 0..2_000 {
            let mut count = 0;
            let notes: Vec<String> = written.lock().unwrap().keys().cloned().collect();
            for note in notes {
                let trail = databases[2].get("trail", &note).await.unwrap();
                count += numbers(trail.as_ref().and_then(|trail| trail.get("seen"))).len();
            }
            if count >= total {
                break;
            }
            clock.sleep(Duration::from_secs(1)).await;
        }
        is_over.store(true, Ordering::Relaxed);
    }));
    table.run(tasks);
    let written = written.into_inner().unwrap();
    assert_eq!(followed.into_inner().unwrap(), written, "as a reader saw them");
    assert_eq!(shared.into_inner().unwrap(), written, "as one saw them for whom they were read");
    for (note, expected) in &written {
        let trail = table.one(databases[0].get("trail", note)).unwrap().unwrap();
        assert_eq!(numbers(trail.get("seen")), *expected, "as the consumer handled {note}");
    }
    let shards = table.shards();
    let children = |id: &str| {
        shards.iter().filter(|shard| shard.parent.as_ref().is_some_and(|of| of.0 == id)).count()
    };
    assert!(shards.len() > 8, "shards end: {}", shards.len());
    assert!(shards.iter().any(|shard| children(&shard.id.0) == 2), "and split");
    let position = table.one(databases[0].newest_position()).unwrap().to_string();
    let open = shards.iter().filter(|shard| children(&shard.id.0) == 0).count();
    assert_eq!(position.split(',').count(), open, "a position names open shards only");
}
