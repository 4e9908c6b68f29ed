//! Many readers page in both directions while writers insert and delete around them: what exists
//! throughout is returned exactly once, and nothing is returned twice.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use keyloom_store::{
    Background, Delete, Direction, Engine, IndexProjection, IndexScope, IndexSpec, KeySchema,
    KeyType, Options, Put, Query, Read, Scan, Store, TableName, TableSpec, TransactAction,
    TransactWrite,
};
use keyloom_testkit::{Random, SimDisk};
use keyloom_value::{Item, KeyCondition, Value};
use pollster::FutureExt;

use crate::rig::{DIRECTORY, repeatable, table};

/// Even positions exist throughout, odd ones come and go.
const POSITIONS: i64 = 600;
const READERS: u64 = 6;
const WALKS: u64 = 12;

fn shelf() -> TableName {
    table("shelf")
}

fn index(name: &str, key: KeySchema) -> IndexSpec {
    let (scope, projection) = (IndexScope::Global, IndexProjection::Keys);
    IndexSpec { name: table(name), scope, key, projection }
}

/// A table of one partition. In one index all items have the same key, in the other few differ.
fn make_shelf(engine: &Engine) {
    let key = KeySchema::partition("room", KeyType::S).and_sort("place", KeyType::N);
    let mut spec = TableSpec::new(shelf(), key);
    let color = || KeySchema::partition("color", KeyType::S);
    spec.indexes.push(index("by-color", color()));
    spec.indexes.push(index("by-weight", color().and_sort("weight", KeyType::N)));
    engine.create_table(spec).block_on().unwrap();
    let even: Vec<i64> = (0..POSITIONS).step_by(2).collect();
    for positions in even.chunks(100) {
        let put = |position: &i64| TransactAction::Put(Put::new(&shelf(), book(*position)));
        let actions = positions.iter().map(put).collect();
        engine.transact_write(TransactWrite::new(actions)).block_on().unwrap();
    }
}

fn key(position: i64) -> Item {
    Item::from([("room", Value::from("hall")), ("place", Value::from(position))])
}

fn book(position: i64) -> Item {
    let mut book = key(position);
    book.insert("color", "red");
    book.insert("weight", position % 3);
    book
}

/// Inserts and deletes odd positions until the readers are done, and rewrites even ones unchanged.
fn disturb(engine: &Engine, readers: &AtomicUsize, seed: u64) {
    let mut random = Random::new(seed);
    while readers.load(Ordering::Acquire) > 0 {
        let position = random.below(POSITIONS as u64) as i64;
        if position % 2 == 1 && random.chance(1, 2) {
            engine.delete(Delete::new(&shelf(), key(position))).block_on().unwrap();
        } else {
            let mut book = book(position);
            book.insert("read", random.below(9));
            engine.put(Put::new(&shelf(), book)).block_on().unwrap();
        }
    }
}

/// Returns the positions of all pages, in order.
fn walk(mut page: impl FnMut(Option<Item>) -> keyloom_store::Page) -> Vec<i64> {
    let (mut positions, mut start) = (Vec::new(), None);
    loop {
        let page = page(start.take());
        let position = |item: &Item| item.get("place").unwrap().as_n().unwrap().to_i64().unwrap();
        positions.extend(page.items.iter().map(position));
        match page.last_key {
            Some(last) => start = Some(last),
            None => return positions,
        }
    }
}

fn query(engine: &Engine, index: Option<&str>, direction: Direction, limit: u32) -> Vec<i64> {
    let key = match index {
        None => KeyCondition::equal("room", "hall"),
        Some(_) => KeyCondition::equal("color", "red"),
    };
    let index = index.map(table);
    let query = Query { index, direction, limit: Some(limit), ..Query::new(&shelf(), key) };
    walk(|start| engine.query(Query { start, ..query.clone() }).block_on().unwrap())
}

fn scan(engine: &Engine, index: Option<&str>, limit: u32) -> Vec<i64> {
    let scan = Scan { index: index.map(table), limit: Some(limit), ..Scan::new(&shelf()) };
    walk(|start| engine.scan(Scan { start, ..scan.clone() }).block_on().unwrap())
}

/// Asserts that the pages were in order, had nothing twice, and missed nothing that existed
/// throughout.
fn check_walk(mut positions: Vec<i64>, index: Option<&str>, direction: Direction, what: &str) {
    if direction == Direction::Backward {
        positions.reverse();
    }
    let order =
        |position: &i64| (if index == Some("by-weight") { position % 3 } else { 0 }, *position);
    assert!(positions.is_sorted_by(|a, b| order(a) < order(b)), "{what}: out of order or twice");
    let seen: BTreeSet<i64> = positions.into_iter().collect();
    let missed: Vec<i64> =
        (0..POSITIONS).step_by(2).filter(|position| !seen.contains(position)).collect();
    assert!(missed.is_empty(), "{what}: {missed:?} were there throughout");
}

fn read_along(engine: &Engine, seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..WALKS {
        let limit = 1 + random.below(40) as u32;
        for index in [None, Some("by-color"), Some("by-weight")] {
            for direction in [Direction::Forward, Direction::Backward] {
                let positions = query(engine, index, direction, limit);
                let what = format!("{index:?} {direction:?} by {limit}");
                check_walk(positions, index, direction, &what);
            }
            let positions = scan(engine, index, limit);
            check_walk(positions, index, Direction::Forward, &format!("scan {index:?} by {limit}"));
        }
    }
}

/// Counts a reader as done, even if it panics: the writers wait for it.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[test]
fn what_exists_throughout_is_returned_once_with_concurrent_writers() {
    let disk = SimDisk::new(3);
    let options = Options { background: Background::Threads, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    make_shelf(&engine);
    let readers = AtomicUsize::new(READERS as usize);
    let (engine, readers) = (&engine, &readers);
    thread::scope(|scope| {
        for reader in 0..READERS {
            scope.spawn(move || {
                let _done = Done(readers);
                read_along(engine, reader);
            });
        }
        for writer in 0..2 {
            scope.spawn(move || disturb(engine, readers, 100 + writer));
        }
    });
}

#[test]
fn a_snapshot_held_during_many_writes_does_not_change() {
    let disk = SimDisk::new(4);
    let engine = Engine::open(DIRECTORY, repeatable(&disk)).unwrap();
    make_shelf(&engine);
    let count = |read: &dyn Read| read.scan(Scan::new(&shelf())).block_on().unwrap();
    let mut held = Vec::new();
    for round in 0..20 {
        let snapshot = engine.snapshot().block_on().unwrap();
        let found = count(&*snapshot);
        held.push((snapshot, found));
        for position in 0..POSITIONS {
            if position % 20 == round {
                engine.delete(Delete::new(&shelf(), key(position))).block_on().unwrap();
            } else if position % 5 == round % 5 {
                let mut book = book(position);
                book.insert("round", round);
                engine.put(Put::new(&shelf(), book)).block_on().unwrap();
            }
        }
        engine.checkpoint().unwrap();
        engine.settle().unwrap();
        held.iter().for_each(|(snapshot, found)| assert_eq!(count(&**snapshot), *found));
    }
    // A snapshot outlives its table.
    engine.drop_table(shelf()).block_on().unwrap();
    engine.settle().unwrap();
    held.iter().for_each(|(snapshot, found)| assert_eq!(count(&**snapshot), *found));
}
