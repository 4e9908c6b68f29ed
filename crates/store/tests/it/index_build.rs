//! Building an index of a table in use, step by step: it answers nothing until it is complete, and
//! then it is what a rebuild would produce, whatever was written, dropped or interrupted meanwhile.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use keyloom_store::{
    Alteration, Background, Cause, Delete, Engine, Error, Feed, FeedStart, IndexProjection,
    IndexScope, IndexSpec, IndexState, KeySchema, KeyType, Moment, Options, Put, Query, Read,
    ReadChanges, Restore, Scan, Store, TableName, TableSpec, TransactAction, TransactWrite,
    UpdateItem,
};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use keyloom_value::{Item, KeyCondition, Update, Value};
use pollster::FutureExt;

use crate::rig::{DIRECTORY, count, open, plain_table, put, repeatable, table};

/// More than two steps of building.
const ITEMS: u64 = 700;
const SHOPS: u64 = 5;

fn goods() -> TableName {
    table("goods")
}

fn by_shop() -> IndexSpec {
    IndexSpec {
        name: table("by-shop"),
        scope: IndexScope::Global,
        key: KeySchema::partition("shop", KeyType::N).and_sort("price", KeyType::N),
        projection: IndexProjection::All,
    }
}

/// An item that belongs in the index, or one that does not because it has no price.
fn item(id: u64, random: &mut Random) -> Item {
    let mut item = Item::from([("id", id), ("shop", random.below(SHOPS))]);
    if random.chance(4, 5) {
        item.insert("price", random.below(50));
    }
    item
}

/// Creates the table and fills it; no background work has run yet.
fn make_goods(engine: &Engine) {
    let spec = TableSpec::new(goods(), KeySchema::partition("id", KeyType::N));
    engine.create_table(spec).block_on().unwrap();
    let mut random = Random::new(1);
    let ids: Vec<u64> = (0..ITEMS).collect();
    for ids in ids.chunks(100) {
        let put = |id: &u64| TransactAction::Put(Put::new(&goods(), item(*id, &mut random)));
        let actions = ids.iter().map(put).collect();
        engine.transact_write(TransactWrite::new(actions)).block_on().unwrap();
    }
}

fn add_index(engine: &Engine) {
    let added = engine.alter_table(goods(), Alteration::AddIndex(by_shop())).block_on().unwrap();
    assert!(matches!(added.indexes[0].state, IndexState::Building { done: 0, .. }));
}

fn state(read: &dyn Read) -> IndexState {
    read.describe_table(goods()).block_on().unwrap().indexes[0].state
}

/// Puts, updates or deletes an item that exists or not.
fn write_something(engine: &Engine, random: &mut Random) -> Result<(), Error> {
    let id = random.below(ITEMS + 100);
    let key = Item::from([("id", id)]);
    match random.below(4) {
        0 => engine.delete(Delete::new(&goods(), key)).block_on().map(drop),
        1 => {
            let update = Update::new().set("price".into(), Value::from(random.below(50)));
            engine.update(UpdateItem::new(&goods(), key, update)).block_on().map(drop)
        }
        2 => {
            let update = Update::new().remove("price".into());
            engine.update(UpdateItem::new(&goods(), key, update)).block_on().map(drop)
        }
        _ => engine.put(Put::new(&goods(), item(id, random))).block_on().map(drop),
    }
}

fn all_items(read: &dyn Read, index: Option<TableName>) -> Vec<Item> {
    let mut scan = Scan { index, ..Scan::new(&goods()) };
    let mut items = Vec::new();
    loop {
        let page = read.scan(scan.clone()).block_on().unwrap();
        items.extend(page.items);
        match page.last_key {
            Some(last) => scan.start = Some(last),
            None => return items,
        }
    }
}

fn query_shop(read: &dyn Read, shop: u64) -> Result<Vec<Item>, Error> {
    let key = KeyCondition::equal("shop", shop);
    let query = Query { index: Some(by_shop().name), ..Query::new(&goods(), key) };
    read.query(query).block_on().map(|page| page.items)
}

fn number(item: &Item, name: &str) -> i64 {
    item.get(name).unwrap().as_n().unwrap().to_i64().unwrap()
}

/// Asserts that the index is active and what a rebuild from the table would produce.
#[track_caller]
fn check_index(read: &dyn Read) {
    assert_eq!(state(read), IndexState::Active);
    let sort_key = |item: &Item| (number(item, "shop"), number(item, "price"), number(item, "id"));
    let mut expected = all_items(read, None);
    expected.retain(|item| item.contains("shop") && item.contains("price"));
    expected.sort_by_key(sort_key);
    let mut found = all_items(read, Some(by_shop().name));
    let queried: Vec<Item> = (0..SHOPS).flat_map(|shop| query_shop(read, shop).unwrap()).collect();
    assert_eq!(queried, expected, "by queries");
    found.sort_by_key(sort_key);
    assert_eq!(found, expected, "by a scan");
    let described = read.describe_table(goods()).block_on().unwrap();
    assert_eq!(described.indexes[0].items, expected.len() as u64);
    let bytes: usize = expected.iter().map(Item::size).sum();
    assert_eq!(described.indexes[0].bytes, bytes as u64);
}

/// Asserts that an index being built answers nothing.
#[track_caller]
fn check_building(read: &dyn Read) {
    let refused = query_shop(read, 1).unwrap_err();
    assert!(matches!(refused, Error::IndexBuilding { .. }), "{refused}");
    let scan = Scan { index: Some(by_shop().name), ..Scan::new(&goods()) };
    let refused = read.scan(scan).block_on().unwrap_err();
    assert!(matches!(refused, Error::IndexBuilding { .. }), "{refused}");
}

/// Checks the index repeatedly until it is complete.
fn watch_filling(engine: &Engine) {
    let mut last = 0;
    loop {
        let snapshot = engine.snapshot().block_on().unwrap();
        match state(&*snapshot) {
            IndexState::Building { done, total } => {
                assert!(done >= last, "filling goes back from {last} to {done}");
                assert!((1..=ITEMS + 100).contains(&total));
                last = done;
                check_building(&*snapshot);
            }
            IndexState::Active => {
                check_index(&*snapshot);
                return;
            }
        }
    }
}

#[test]
fn an_index_built_beside_a_writer_is_what_a_rebuild_would_produce() {
    let disk = SimDisk::new(1);
    let options = Options { background: Background::Threads, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    make_goods(&engine);
    for round in 0..4 {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random::new(round);
                while !stop.load(Ordering::Acquire) {
                    write_something(&engine, &mut random).unwrap();
                }
            });
            add_index(&engine);
            let watched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                watch_filling(&engine);
            }));
            // The writer must stop in any case, or a failure would look like a hang.
            stop.store(true, Ordering::Release);
            watched.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        check_index(&engine);
        engine.alter_table(goods(), Alteration::DropIndex(by_shop().name)).block_on().unwrap();
    }
}

/// Returns what is left when the power is cut at the `k`-th sync while an index is built; `None` if
/// it is complete before that.
fn crashed_while_filling(base: &SimDisk, k: u64) -> Option<SimDisk> {
    let disk = base.after_crash(0);
    let engine = open(&disk).unwrap();
    disk.crash_at_sync(k);
    let added = engine.alter_table(goods(), Alteration::AddIndex(by_shop())).block_on();
    let settled = added.and_then(|_| engine.settle());
    drop(engine);
    match (settled, disk.crashed()) {
        // It was complete; the power was cut while the store was being closed, or not at all.
        (Ok(()), _) => None,
        (Err(_), true) => Some(disk.after_crash(k)),
        (Err(error), false) => panic!("a whole disk does not fail: {error}"),
    }
}

fn filled_base() -> SimDisk {
    let disk = SimDisk::new(2);
    let engine = open(&disk).unwrap();
    make_goods(&engine);
    engine.close().unwrap();
    disk
}

fn has_index(engine: &Engine) -> bool {
    !engine.describe_table(goods()).block_on().unwrap().indexes.is_empty()
}

#[test]
fn a_build_survives_a_crash_at_every_sync_whatever_is_written_then() {
    let base = filled_base();
    let mut seen = Vec::new();
    for k in 1.. {
        let Some(disk) = crashed_while_filling(&base, k) else { break };
        let engine = open(&disk).unwrap();
        if !has_index(&engine) {
            add_index(&engine);
        }
        if let IndexState::Building { done, total } = state(&engine) {
            assert_eq!(total, ITEMS);
            seen.push(done);
            check_building(&engine);
        }
        let mut random = Random::new(k);
        (0..60).for_each(|_| write_something(&engine, &mut random).unwrap());
        engine.settle().unwrap();
        check_index(&engine);
        drop(engine);
        check_index(&open(&disk).unwrap());
    }
    seen.dedup();
    assert!(seen.is_sorted(), "{seen:?}");
    assert_eq!(seen, [0, 256, 512, ITEMS]);
}

/// A store in the middle of building: some items are in the index and some are not.
fn half_filled() -> SimDisk {
    let base = filled_base();
    let crashes = (1..).map_while(|k| crashed_while_filling(&base, k));
    let is_half = |disk: &SimDisk| {
        let engine = open(&disk.after_crash(0)).unwrap();
        has_index(&engine) && matches!(state(&engine), IndexState::Building { done: 256, .. })
    };
    crashes.into_iter().find(is_half).unwrap()
}

/// Returns how many rows the tree has, of every kind.
fn rows(engine: &Engine, target: &str) -> u64 {
    engine.backup(target, &mut |_| ControlFlow::Continue(())).unwrap().rows
}

#[test]
fn an_index_dropped_while_it_is_built_leaves_nothing_and_can_be_added_again() {
    let engine = open(&half_filled()).unwrap();
    let with_half = rows(&engine, "/half");
    engine.alter_table(goods(), Alteration::DropIndex(by_shop().name)).block_on().unwrap();
    let gone = query_shop(&engine, 1).unwrap_err();
    assert!(matches!(gone, Error::IndexNotFound { .. }), "{gone}");
    // Added again before the rows of the first one are removed.
    add_index(&engine);
    assert_eq!(state(&engine), IndexState::Building { done: 0, total: ITEMS });
    engine.settle().unwrap();
    check_index(&engine);
    engine.alter_table(goods(), Alteration::DropIndex(by_shop().name)).block_on().unwrap();
    engine.settle().unwrap();
    let without = rows(&engine, "/without");
    assert!((ITEMS..ITEMS + 10).contains(&without), "{without} rows, {with_half} before");
    assert!(with_half > without + 100);
}

#[test]
fn a_table_dropped_while_an_index_is_built_leaves_nothing_and_can_be_created_again() {
    let disk = half_filled();
    let engine = open(&disk).unwrap();
    engine.drop_table(goods()).block_on().unwrap();
    // Created again before the rows of the first one are removed.
    let spec = TableSpec::new(goods(), KeySchema::partition("id", KeyType::N));
    engine.create_table(TableSpec { indexes: vec![by_shop()], ..spec }).block_on().unwrap();
    assert_eq!(count(&engine, &goods()), 0);
    let mut random = Random::new(9);
    (0..10).for_each(|id| drop(engine.put(Put::new(&goods(), item(id, &mut random))).block_on()));
    engine.settle().unwrap();
    check_index(&engine);
    assert_eq!(count(&engine, &goods()), 10);
    let left = rows(&engine, "/left");
    assert!(left < 40, "{left} rows are left");
    drop(engine);
    check_index(&open(&disk).unwrap());
}

#[test]
fn a_copy_made_while_an_index_is_built_continues_to_build_it() {
    let disk = half_filled();
    let engine = open(&disk).unwrap();
    let copied = engine.backup("/copy", &mut |_| ControlFlow::Continue(())).unwrap();
    let mut random = Random::new(3);
    (0..20).for_each(|_| write_something(&engine, &mut random).unwrap());
    engine.settle().unwrap();
    check_index(&engine);
    // Building is in the log too, one commit per step.
    for commit in copied.commit..=engine.status().unwrap().commit {
        let target = format!("/commit-{commit}");
        let (to, log) = (Moment::Commit(commit), Some(DIRECTORY.into()));
        let restore = Restore {
            backup: "/copy".into(),
            logs: log.into_iter().collect(),
            to,
            target: target.clone().into(),
        };
        Engine::restore(&restore, &repeatable(&disk), &mut |_| ControlFlow::Continue(())).unwrap();
        let restored = Engine::open(target, repeatable(&disk)).unwrap();
        restored.settle().unwrap();
        check_index(&restored);
    }
    let copy = Engine::open("/copy", repeatable(&disk)).unwrap();
    assert_eq!(state(&copy), IndexState::Building { done: 256, total: ITEMS });
    (0..20).for_each(|_| write_something(&copy, &mut random).unwrap());
    copy.settle().unwrap();
    check_index(&copy);
}

#[test]
fn a_dropped_table_leaves_the_tree_even_if_the_power_is_cut_meanwhile() {
    let base = filled_base();
    for k in 1.. {
        let disk = base.after_crash(0);
        let engine = open(&disk).unwrap();
        disk.crash_at_sync(k);
        let dropped = engine.drop_table(goods()).block_on();
        // So that the power is also cut while the tree is written to disk.
        let done = dropped.and_then(|_| engine.settle()).and_then(|()| engine.checkpoint());
        drop(engine);
        let survived = disk.after_crash(k);
        let engine = open(&survived).unwrap();
        engine.settle().unwrap();
        let is_there = !engine.list_tables().block_on().unwrap().is_empty();
        let left = rows(&engine, "/left");
        match is_there {
            true => assert_eq!(count(&engine, &goods()), ITEMS),
            false => assert!(left < 10, "{left} rows are left"),
        }
        if done.is_ok() {
            assert!(!is_there && k > 2);
            return;
        }
    }
}

#[test]
fn a_thousand_tables_can_be_created_and_dropped() {
    let disk = SimDisk::new(5);
    let engine = open(&disk).unwrap();
    let kept = plain_table(&engine);
    put(&engine, &kept, 1).unwrap();
    let names: Vec<TableName> = (0..1000).map(|number| table(&format!("t-{number}"))).collect();
    for name in &names {
        let spec = TableSpec::new(name.clone(), KeySchema::partition("id", KeyType::N));
        engine.create_table(TableSpec { indexes: vec![by_shop()], ..spec }).block_on().unwrap();
        put(&engine, name, 1).unwrap();
    }
    assert_eq!(engine.list_tables().block_on().unwrap().len(), 1001);
    drop(engine);
    let engine = open(&disk).unwrap();
    for name in &names {
        assert_eq!(engine.drop_table(name.clone()).block_on().unwrap().items, 1);
    }
    engine.settle().unwrap();
    assert_eq!(engine.list_tables().block_on().unwrap().len(), 1);
    assert_eq!(count(&engine, &kept), 1);
    let left = rows(&engine, "/left");
    assert!(left < 10, "{left} rows are left");
}

#[test]
fn enabling_time_to_live_expires_existing_items() {
    let (disk, clock) = (SimDisk::new(6), ManualClock::new());
    let options = Options { clock: Arc::new(clock.clone()), ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let key = KeySchema::partition("id", KeyType::N);
    let spec = TableSpec { feed: Feed::Images, ..TableSpec::new(goods(), key) };
    engine.create_table(spec).block_on().unwrap();
    let start_secs = ManualClock::START.secs();
    // One item expires every second, from before now to after it.
    for id in 0..ITEMS {
        let item = Item::from([("id", id), ("expires", start_secs - ITEMS / 2 + id)]);
        engine.put(Put::new(&goods(), item)).block_on().unwrap();
    }
    engine.settle().unwrap();
    assert_eq!(count(&engine, &goods()), ITEMS, "nothing expires without a time to live");
    let ttl = Alteration::SetTtl(Some("expires".into()));
    engine.alter_table(goods(), ttl).block_on().unwrap();
    for later_secs in [0, 100, ITEMS] {
        clock.set(ManualClock::START);
        clock.advance_ms(later_secs * 1000);
        engine.settle().unwrap();
        let left = (ITEMS / 2).saturating_sub(later_secs);
        assert_eq!(count(&engine, &goods()), left, "after {later_secs} seconds");
    }
    assert_eq!(expired(&engine), ITEMS);
}

/// Returns how many changes of the feed are expiries.
fn expired(engine: &Engine) -> u64 {
    let shard = engine.shards(goods()).block_on().unwrap().remove(0).id;
    let (mut start, mut expired) = (FeedStart::Oldest, 0);
    loop {
        let read = ReadChanges { table: goods(), shard: shard.clone(), start, limit: 1000 };
        let page = engine.changes(read).block_on().unwrap();
        if page.changes.is_empty() {
            return expired;
        }
        expired +=
            page.changes.iter().filter(|change| change.cause == Cause::Expiry).count() as u64;
        start = FeedStart::After(page.next);
    }
}
