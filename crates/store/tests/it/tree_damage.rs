//! Damage to the tree's file: whatever is read is what was written, or an error reports where the
//! damage is.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_store::{
    Consistency, Engine, Error, FeedStart, Get, IndexProjection, IndexScope, IndexSpec, KeySchema,
    KeyType, Options, Put, Query, Read, ReadChanges, Scan, Scrub, Store, TableSpec,
};
use keyloom_testkit::{Random, SimDisk};
use keyloom_value::{Item, KeyCondition, Value};
use pollster::FutureExt;

use crate::rich::{Log, rich_store};
use crate::rig::{DIRECTORY, in_data, open, repeatable, segments, table};

pub(crate) const ITEMS: i64 = 3000;
const BLOCK: usize = 4096;

pub(crate) fn item(id: i64) -> Item {
    let body = format!("body of item {id} ").repeat(1 + id as usize % 40);
    Item::from([
        ("id", Value::from(id)),
        ("color", Value::from(["red", "green", "blue"][id as usize % 3])),
        ("body", Value::from(body)),
    ])
}

/// A closed store with everything in the tree and a trimmed log.
pub(crate) fn kept() -> SimDisk {
    let disk = SimDisk::new(5);
    let options = Options { log_segment_bytes: 64 << 10, keep_log_bytes: 1, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let mut spec = TableSpec::new(table("items"), KeySchema::partition("id", KeyType::N));
    spec.indexes.push(IndexSpec {
        name: table("by_color"),
        scope: IndexScope::Global,
        key: KeySchema::partition("color", KeyType::S).and_sort("id", KeyType::N),
        projection: IndexProjection::Keys,
    });
    engine.create_table(spec).block_on().unwrap();
    for id in 0..ITEMS {
        engine.put(Put::new(&table("items"), item(id))).block_on().unwrap();
    }
    engine.checkpoint().unwrap();
    engine.settle().unwrap();
    drop(engine);
    disk.after_crash(0)
}

/// Reads everything in every way; returns how many reads reported damage.
fn read_all(engine: &Engine) -> usize {
    let mut reported = 0;
    let mut check = |outcome: Result<(), Error>| match outcome {
        Ok(()) => {}
        Err(Error::Damaged(damage)) => {
            assert!(damage.file.ends_with("tree.redb"), "{damage:?}");
            reported += 1;
        }
        Err(error) => panic!("another error: {error}"),
    };
    for id in (0..ITEMS).step_by(7) {
        let key = Item::from([("id", Value::from(id))]);
        let got = engine.get(Get::new(&table("items"), key)).block_on();
        check(got.map(|got| assert_eq!(got, Some(item(id)))));
    }
    check(scan(engine).map(|mut items| {
        items.sort_by_key(|item| item.get("id").cloned().map(|id| id.to_string()));
        let mut expected: Vec<Item> = (0..ITEMS).map(item).collect();
        expected.sort_by_key(|item| item.get("id").cloned().map(|id| id.to_string()));
        assert!(items == expected, "a scan found something else");
    }));
    for color in ["red", "green", "blue"] {
        let key = KeyCondition::equal("color", color);
        let query = Query {
            index: Some(table("by_color")),
            consistency: Consistency::Eventual,
            ..Query::new(&table("items"), key)
        };
        check(engine.query(query).block_on().map(|page| assert_eq!(page.count, 1000)));
    }
    reported
}

pub(crate) fn scan(engine: &Engine) -> Result<Vec<Item>, Error> {
    let mut items = vec![];
    let mut scan = Scan::new(&table("items"));
    loop {
        let page = engine.scan(scan.clone()).block_on()?;
        items.extend(page.items);
        match page.last_key {
            Some(key) => scan.start = Some(key),
            None => return Ok(items),
        }
    }
}

/// Opens the damaged store, reads and writes, closes it, twice.
fn use_damaged(disk: &SimDisk) -> usize {
    let mut reported = 0;
    for _ in 0..2 {
        match open(disk) {
            Err(Error::Damaged(_)) => return reported + 1,
            Err(error) => panic!("another error: {error}"),
            Ok(engine) => {
                reported += read_all(&engine);
                // Damage persists for later reads.
                reported += read_all(&engine);
                for id in (0..ITEMS).step_by(100) {
                    // The same item, so that what is read stays the same.
                    let _ = engine.put(Put::new(&table("items"), item(id))).block_on();
                }
            }
        }
    }
    reported
}

fn tree_bytes(disk: &SimDisk) -> usize {
    disk.file_bytes(in_data("tree.redb")).unwrap().len()
}

#[test]
fn a_changed_byte_of_the_tree_is_never_served() {
    let whole = kept();
    assert_eq!(use_damaged(&whole.after_crash(0)), 0);
    let mut random = Random::new(11);
    let reported = (0..200).filter(|_| {
        let disk = whole.after_crash(0);
        let at = random.index(tree_bytes(&whole)) as u64;
        disk.corrupt(in_data("tree.redb"), at, |bytes| bytes[0] ^= 1 << random.below(8));
        use_damaged(&disk) > 0
    });
    // The rest was in blocks that nothing refers to.
    let reported = reported.count();
    assert!(reported > 60, "{reported} of 200 were noticed");
}

#[test]
fn a_zeroed_block_of_the_tree_is_never_served() {
    let whole = kept();
    let mut random = Random::new(12);
    let reported = (0..50).filter(|_| {
        let disk = whole.after_crash(0);
        let block = random.index(tree_bytes(&whole) / BLOCK) * BLOCK;
        disk.corrupt(in_data("tree.redb"), block as u64, |bytes| bytes[..BLOCK].fill(0));
        use_damaged(&disk) > 0
    });
    let reported = reported.count();
    assert!(reported > 15, "{reported} of 50 were noticed");
}

#[test]
fn a_misplaced_block_is_never_served() {
    let whole = kept();
    let bytes = whole.file_bytes(in_data("tree.redb")).unwrap();
    let mut random = Random::new(13);
    for _ in 0..50 {
        let disk = whole.after_crash(0);
        let [from, to] = [0, 1].map(|_| random.index(bytes.len() / BLOCK) * BLOCK);
        disk.corrupt(in_data("tree.redb"), to as u64, |target| {
            target[..BLOCK].copy_from_slice(&bytes[from..from + BLOCK]);
        });
        use_damaged(&disk);
    }
}

#[test]
fn the_tree_of_another_store_is_refused() {
    let (ours, other) = (kept(), SimDisk::new(6));
    let theirs = {
        let options = repeatable(&other);
        drop(Engine::open("/elsewhere", options).unwrap());
        other.file_bytes("/elsewhere/tree.redb").unwrap()
    };
    ours.corrupt(in_data("tree.redb"), 0, |bytes| {
        let len = bytes.len().min(theirs.len());
        bytes[..len].copy_from_slice(&theirs[..len]);
    });
    let error = open(&ours).unwrap_err().to_string();
    assert!(error.contains("another store") && error.contains("tree.redb"), "{error}");
}

#[test]
fn one_copy_of_the_header_is_enough() {
    let whole = kept();
    for copy in 0..2 {
        let disk = whole.after_crash(0);
        disk.corrupt(in_data("tree.redb"), copy * 2 * BLOCK as u64, |bytes| bytes[64] ^= 1);
        assert_eq!(use_damaged(&disk), 0, "copy {copy}");
    }
    let options = Options { disk: Arc::new(whole.clone()), ..repeatable(&whole) };
    drop(Engine::open(DIRECTORY, options).unwrap());
}

#[test]
fn damage_found_by_a_reader_is_counted_once_and_reported() {
    let whole = kept();
    let mut counted = 0;
    for block in (10..tree_bytes(&whole) / BLOCK).step_by(7) {
        let disk = whole.after_crash(0);
        let at = (block * BLOCK) as u64;
        disk.corrupt(in_data("tree.redb"), at, |bytes| bytes[100] ^= 1);
        let Ok(engine) = open(&disk) else { continue };
        let before = engine.status().unwrap().damages;
        let is_met = read_all(&engine) > 0;
        let status = engine.status().unwrap();
        assert_eq!(status.damages > 0, is_met || before > 0, "block {block}");
        if is_met {
            counted += 1;
            let last = status.last_damage.unwrap();
            assert_eq!((&last.file, last.offset), (&in_data("tree.redb"), at));
            read_all(&engine);
            assert_eq!(engine.status().unwrap().damages, 1, "the same position");
            // The scrub finds the same position.
            let found = engine.scrub(&Scrub::Tree, &mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(found.damages[0].offset, at);
        }
    }
    assert!(counted > 10, "{counted}");
}

#[test]
fn damage_found_by_a_reader_of_the_feed_is_counted() {
    let disk = rich_store(Log::Whole);
    let engine = open(&disk).unwrap();
    let log = segments(&disk).into_iter().filter(|path| path.starts_with(DIRECTORY));
    let log = log.collect::<Vec<_>>()[1].clone();
    disk.corrupt(&log, 2000, |bytes| bytes[0] ^= 1);
    let shard = engine.shards(table("rich")).block_on().unwrap().remove(0).id;
    let mut start = FeedStart::Oldest;
    let error = loop {
        let read = ReadChanges { table: table("rich"), shard: shard.clone(), start, limit: 100 };
        match engine.changes(read).block_on() {
            Ok(page) => start = FeedStart::After(page.next),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Damaged(_)), "{error}");
    let status = engine.status().unwrap();
    assert_eq!((status.damages, &status.last_damage.unwrap().file), (1, &log));
}
