//! Real processes on a real directory, killed at random times: what they acknowledged is there.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use keyloom_store::{
    Engine, Feed, FeedStart, IndexProjection, IndexScope, IndexSpec, KeySchema, KeyType, Options,
    Put, Query, Read, ReadChanges, Scan, SeqNo, Store, TableName, TableSpec, TransactAction,
    TransactWrite,
};
use keyloom_testkit::Random;
use keyloom_value::{Item, KeyCondition, Value};
use pollster::FutureExt;

use crate::rig::table;

/// Set for the process to kill: the directory to write to.
const VICTIM: &str = "KEYLOOM_KILL_DIRECTORY";
const ROUNDS: u64 = 12;
const WRITERS: u64 = 8;

fn options() -> Options {
    // Small, so that checkpoints, rotations and kills coincide often.
    Options { memory_bytes: 8 << 20, log_segment_bytes: 256 << 10, ..Options::default() }
}

fn pairs() -> TableName {
    table("pairs")
}

fn make_table(engine: &Engine) {
    let mut spec = TableSpec::new(pairs(), KeySchema::partition("id", KeyType::N));
    spec.feed = Feed::Images;
    spec.indexes.push(IndexSpec {
        name: table("by-writer"),
        scope: IndexScope::Global,
        key: KeySchema::partition("writer", KeyType::N).and_sort("half", KeyType::S),
        projection: IndexProjection::Keys,
    });
    engine.create_table(spec).block_on().unwrap();
}

/// One half of a pair; both are written by one transaction.
fn half(id: u64, writer: u64, half: &str) -> TransactAction {
    let id = id * 2 + u64::from(half == "right");
    let body = "x".repeat((id % 700) as usize);
    TransactAction::Put(Put::new(
        &pairs(),
        Item::from([
            ("id", Value::from(id)),
            ("writer", Value::from(writer)),
            ("half", Value::from(half)),
            ("body", Value::from(body)),
        ]),
    ))
}

/// Writes pairs until it is killed, and reports which it wrote. Does nothing in a regular run.
#[test]
fn victim() {
    let Some(directory) = std::env::var_os(VICTIM) else { return };
    let engine = Engine::open(&directory, options()).unwrap();
    let first = engine.status().unwrap().commit * WRITERS;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let engine = &engine;
            scope.spawn(move || {
                for id in (first + writer..).step_by(WRITERS as usize) {
                    let actions = vec![half(id, writer, "left"), half(id, writer, "right")];
                    let pair = TransactWrite::new(actions);
                    engine.transact_write(pair).block_on().unwrap();
                    // The report is flushed before the next write begins.
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "wrote {id}").and_then(|()| out.flush()).unwrap();
                }
            });
        }
    });
}

/// Starts a victim, kills it after some reports, and returns what it reported.
fn run_and_kill(directory: &Path, reports: u64) -> Vec<u64> {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["kill::victim", "--exact", "--nocapture", "--test-threads=1"])
        .env(VICTIM, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let mut ids = Vec::new();
    let mut killed = false;
    for line in lines {
        let Some(id) = line.unwrap().strip_prefix("wrote ").and_then(|id| id.parse().ok()) else {
            continue;
        };
        ids.push(id);
        if ids.len() as u64 >= reports && !killed {
            victim.kill().unwrap();
            killed = true;
        }
    }
    victim.wait().unwrap();
    assert!(killed, "the victim ended by itself after {} reports", ids.len());
    ids
}

fn all_items(engine: &Engine, index: Option<TableName>) -> Vec<Item> {
    let mut scan = Scan { index, ..Scan::new(&pairs()) };
    let mut items = Vec::new();
    loop {
        let page = engine.scan(scan.clone()).block_on().unwrap();
        items.extend(page.items);
        match page.last_key {
            Some(last) => scan.start = Some(last),
            None => return items,
        }
    }
}

fn id(item: &Item) -> u64 {
    item.get("id").unwrap().as_n().unwrap().to_i64().unwrap() as u64
}

/// Returns how many changes the feed has, each of a different item.
fn changes(engine: &Engine) -> usize {
    let shard = engine.shards(pairs()).block_on().unwrap().remove(0).id;
    let mut start = FeedStart::Oldest;
    let (mut seen, mut last) = (BTreeSet::new(), SeqNo(0));
    loop {
        let read = ReadChanges { table: pairs(), shard: shard.clone(), start, limit: 1000 };
        let page = engine.changes(read).block_on().unwrap();
        for change in &page.changes {
            assert!(change.seq > last && seen.insert(id(&change.key)), "the feed repeats");
            last = change.seq;
        }
        if page.changes.is_empty() {
            return seen.len();
        }
        start = FeedStart::After(page.next);
    }
}

fn check(engine: &Engine, acknowledged: &BTreeSet<u64>) {
    let found: BTreeSet<u64> = all_items(engine, None).iter().map(id).collect();
    for pair in acknowledged {
        assert!(found.contains(&(pair * 2)), "pair {pair} was acknowledged and is gone");
    }
    for item in &found {
        assert!(found.contains(&(item ^ 1)), "half a transaction: item {item} without its pair");
    }
    let indexed: BTreeSet<u64> =
        all_items(engine, Some(table("by-writer"))).iter().map(id).collect();
    assert_eq!(indexed, found, "the index differs from the table");
    let query = Query {
        index: Some(table("by-writer")),
        ..Query::new(&pairs(), KeyCondition::equal("writer", 3))
    };
    assert!(engine.query(query).block_on().unwrap().count > 0);
    assert_eq!(changes(engine), found.len(), "the feed differs from the table");
    let described = engine.describe_table(pairs()).block_on().unwrap();
    assert_eq!(described.items, found.len() as u64);
    assert_eq!(described.indexes[0].items, found.len() as u64);
}

struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn nothing_acknowledged_is_lost_by_kill_9() {
    let name = format!("keyloom-kill-{}", std::process::id());
    let directory = Arc::new(Removed(std::env::temp_dir().join(name)));
    make_table(&Engine::open(&directory.0, options()).unwrap());
    let mut random = Random::new(5);
    let mut acknowledged = BTreeSet::new();
    for _ in 0..ROUNDS {
        acknowledged.extend(run_and_kill(&directory.0, 20 + random.below(900)));
        check(&Engine::open(&directory.0, options()).unwrap(), &acknowledged);
    }
}
