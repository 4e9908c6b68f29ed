//! Copies between stores with sets and stores without: every read of the copy returns what it returned
//! in the source, wherever the copy was interrupted.

use std::sync::Arc;
use std::time::Duration;

use keyloom::copy::{StoreSource, StoreTarget, Summary, summarize};
use keyloom::events::Job;
use keyloom::{Change, Clock, Db, Error, Filter, Idempotent, Options, Record};
use keyloom_store::Store;
use keyloom_testkit::model::drafts;
use keyloom_testkit::pausing::{interleave, pausing, stop_after};
use keyloom_testkit::{InFront, ManualClock, Random};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::cases::for_all;
use crate::contents::{Look, first_layout, raw_rows};
use crate::crash::{ROOMS, large_family};
use crate::histories::take_step;
use crate::rig::{
    assert_clean, end_deletions, engine_at, fold, memory_store_at, open_at, shared_store,
};
use crate::strict_rig::{SharedTable, rules};
use crate::world::{Depth, Readable, World};

fn embedded(clock: &ManualClock) -> Arc<dyn Store> {
    Arc::new(memory_store_at(clock))
}

fn options(clock: &ManualClock) -> Options {
    Options { clock: Arc::new(clock.clone()), ..Options::default() }
}

async fn source(store: &Arc<dyn Store>, clock: &ManualClock) -> Result<StoreSource, Error> {
    StoreSource::open(store.clone(), options(clock), None).await
}

/// Copies all of it, or continues to.
async fn copy(
    from: &Arc<dyn Store>,
    to: &Arc<dyn Store>,
    clock: &ManualClock,
) -> Result<Summary, Error> {
    let from = source(from, clock).await?;
    let target = StoreTarget::begin(&from, to.clone(), options(clock), 3).await?;
    target.fill(&from, &|_| {}).await?;
    let summary = target.check(&from, &|_| {}).await?;
    target.finish().await?;
    Ok(summary)
}

fn copied(from: &Arc<dyn Store>, to: &Arc<dyn Store>, clock: &ManualClock) -> Summary {
    block_on(copy(from, to, clock)).expect("it is copied")
}

fn summary(store: &Arc<dyn Store>, clock: &ManualClock) -> Summary {
    let from = block_on(source(store, clock)).expect("it has data");
    let now_ms = i64::try_from(clock.now().0).expect("a time");
    block_on(summarize(&from, now_ms, &|_| {})).expect("it is read")
}

#[test]
fn copies_of_random_histories_answer_every_query_as_their_source_does() {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..30_usize);
    for_all(40, histories, |(Readable(draft), seed, steps)| {
        let (model, mut random) = (draft.text(), Random::new(seed));
        let clock = ManualClock::new();
        let mut first: Arc<dyn Store> =
            if random.chance(1, 2) { embedded(&clock) } else { shared_store(&clock) };
        let mut world = World::new(&model, first.clone(), &clock);
        for round in 0..3 {
            (0..steps).for_each(|_| take_step(&mut world, &mut random));
            let to = match (random.below(4), round) {
                (0, _) => Arc::new(engine_at(&world.clock)),
                (1, _) | (_, 1) => embedded(&world.clock),
                _ => shared_store(&world.clock),
            };
            let before = summary(&first, &world.clock);
            assert_eq!(copied(&first, &to, &world.clock), before);
            world = World::reopened(&model, to.clone(), &world.naive).expect("the copy opens");
            world.compare_things();
            world.check(Depth::All, &mut random);
            first = to;
        }
    });
}

#[test]
fn interrupted_copies_continue_where_they_stopped() {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..30_usize);
    for_all(40, histories, |(Readable(draft), seed, steps)| {
        let (model, mut random) = (draft.text(), Random::new(seed));
        let clock = ManualClock::new();
        let (from, to) = match random.chance(1, 2) {
            true => (embedded(&clock), shared_store(&clock)),
            false => (shared_store(&clock), embedded(&clock)),
        };
        let mut world = World::new(&model, from.clone(), &clock);
        (0..steps).for_each(|_| take_step(&mut world, &mut random));
        let slow = pausing(to.clone());
        let mut pauses = 1;
        loop {
            match stop_after(pauses, copy(&from, &slow, &world.clock)) {
                Some(done) => break drop(done.expect("it is copied")),
                None if is_finished(&to) => break,
                // Opening a table that is not there would create it.
                None if is_missing(&to) => {}
                None => {
                    let opened = block_on(Db::open_with(&model, to.clone(), options(&world.clock)));
                    assert!(matches!(opened, Err(Error::UnfinishedCopy)), "{opened:?}");
                }
            }
            // As many calls more as an attempt repeats, or it would never end.
            pauses += 1 + random.below(7);
        }
        let mut world = World::reopened(&model, to, &world.naive).expect("the copy opens");
        world.compare_things();
        world.check(Depth::All, &mut random);
    });
}

/// Whether a table does not exist or is empty, so that a copy has not begun.
fn is_missing(store: &Arc<dyn Store>) -> bool {
    block_on(store.list_tables()).expect("tables are listed").is_empty()
        || raw_rows(&**store).is_empty()
}

/// Whether the last call of a copy was its last write.
fn is_finished(store: &Arc<dyn Store>) -> bool {
    !is_missing(store) && raw_rows(&**store).iter().all(|row| !row.contains("streams"))
}

const SHOP: &str = r#"
jobs = true

[entity.shop]
id = "given"
fields.name = "text"
unique = ["name"]

[entity.task]
parent = "shop"
on_parent_delete = "cascade"
fields.title = "text"
fields.points = "int = 0"
fields.tags = "tags = {}"
list.open = { by = "shop", order = "-points" }
count.by_shop = { by = "shop" }
board.best = { rank = "points" }
board.shops = { of = "shop" }

[on.task]
insert = "bill"
"#;

fn order(title: &str) -> Vec<Change> {
    let task = json!({ "shop": "s1", "title": title, "tags": { "urgent": "yes" } });
    vec![Change::create("task", &task).expect("a change")]
}

/// A shop with tasks, jobs and an idempotent change.
fn filled(store: &Arc<dyn Store>, clock: &ManualClock) -> (Db, Vec<Option<Record>>) {
    let db = block_on(open_at(SHOP, store.clone(), clock));
    for shop in ["s1", "s2"] {
        block_on(db.create("shop", &json!({ "id": shop, "name": shop }))).expect("a shop");
    }
    for number in 0..20 {
        let color = ["red", "blue"][number % 2];
        let tags = json!({ "color": color });
        let task = json!({ "shop": "s1", "title": "t", "points": number, "tags": tags });
        block_on(db.create("task", &task)).expect("a task");
    }
    let long = Job::new("mail").id("long").lane("l").payload_value("x".repeat(100_000));
    block_on(db.schedule(long)).expect("a job");
    block_on(db.schedule(Job::new("mail").id("next").lane("l"))).expect("a job");
    let Idempotent::Applied(records) =
        block_on(db.transact_idempotent("k", order("once"))).expect("a change")
    else {
        panic!("it happens for the first time")
    };
    (db, records)
}

#[test]
fn a_copy_keeps_versions_jobs_cursors_and_idempotency_records() {
    for is_back in [false, true] {
        let clock = ManualClock::new();
        let stores = [embedded(&clock), shared_store(&clock)];
        let [from, to] = if is_back { [1, 0] } else { [0, 1] }.map(|index| stores[index].clone());
        let (old, records) = filled(&from, &clock);
        let list = |db: &Db| db.list("task", "open").by("shop", "s1").limit(5);
        let page = block_on(list(&old).read()).expect("a page");
        let next = page.next.expect("there is more");
        assert_eq!(copied(&from, &to, &clock).entities(), 2 + 21 + 2);

        let db = block_on(open_at(SHOP, to.clone(), &clock));
        let rest = |db: &Db| block_on(list(db).after(next.clone()).read()).expect("a page").items;
        assert_eq!(rest(&db), rest(&old), "a cursor of the source continues in the copy");
        let again = block_on(db.transact_idempotent("k", order("once"))).expect("it was applied");
        let Idempotent::Replayed(again) = again else { panic!("it is applied twice") };
        assert_eq!(again, records);
        for id in ["long", "next"] {
            let job = |db: &Db| block_on(db.get("job", id)).expect("a read").expect("a job");
            assert_eq!((job(&db), job(&db).version()), (job(&old), job(&old).version()));
        }
        block_on(db.cancel("long")).expect("it leaves its lane");
        // A new task is after all that were copied, in the order of creation too.
        let task = json!({ "shop": "s1", "title": "new", "tags": { "color": "red" } });
        block_on(db.create("task", &task)).expect("a task");
        let red = db.list("task", "open").by("shop", "s1").filter(Filter::tag("color", "red"));
        assert_eq!(block_on(red.limit(50).read()).expect("a page").items.len(), 11);
        let count = block_on(db.count("task", "by_shop").by("shop", "s1").total());
        assert_eq!(count.expect("a count"), 22);
        fold(&db, &clock);
        assert_clean(&db);
    }
}

/// Counters and posting lists are rows that many entities share: if each batch wrote them, streams would
/// cancel each other's transactions.
#[test]
fn streams_of_a_copy_do_not_conflict_on_dynamodb() {
    let clock = ManualClock::new();
    let from = embedded(&clock);
    let (db, _) = filled(&from, &clock);
    for number in 0..300 {
        let task = json!({ "shop": "s1", "title": "t", "points": number, "tags": { "a": "b" } });
        block_on(db.create("task", &task)).expect("a task");
    }
    let transactions = |latency_ms: u64| {
        let mut strict = rules();
        strict.latency = Duration::from_millis(latency_ms);
        // A request that is refused for lack of capacity is sent again too.
        (strict.write_units, strict.read_units) = (1e9, 1e9);
        let table = SharedTable::new(strict);
        let connection = table.connect();
        let to: Arc<dyn Store> = Arc::new(InFront(connection.clone()));
        let options = Options { clock: Arc::new(table.clock.clone()), ..Options::default() };
        let copying = async {
            let from = source(&from, &clock).await?;
            let target = StoreTarget::begin(&from, to, options, 8).await?;
            target.fill(&from, &|_| {}).await?;
            target.check(&from, &|_| {}).await?;
            target.finish().await
        };
        table.one(copying).expect("it is copied");
        connection.counts()["TransactWriteItems"]
    };
    // Without latency, no two transactions are in flight at the same time.
    assert_eq!(transactions(10), transactions(0));
}

#[test]
fn consumers_of_a_copy_get_no_event_of_what_was_copied() {
    let clock = ManualClock::new();
    let (from, to) = (embedded(&clock), embedded(&clock));
    let (old, _) = filled(&from, &clock);
    assert!(block_on(old.backlog()).expect("a backlog").consumers[0].events > 0);
    let behind = block_on(block_on(source(&from, &clock)).expect("it opens").consumers_behind());
    assert_eq!(behind.expect("they are known"), ["bill"]);
    copied(&from, &to, &clock);
    let db = block_on(open_at(SHOP, to, &clock));
    assert_eq!(block_on(db.backlog()).expect("a backlog").consumers[0].events, 0);
    let task = json!({ "shop": "s1", "title": "new" });
    block_on(db.create("task", &task)).expect("a task");
    assert_eq!(block_on(db.backlog()).expect("a backlog").consumers[0].events, 1);
}

#[test]
fn a_target_with_data_is_refused_and_not_changed() {
    let clock = ManualClock::new();
    let (from, to) = (embedded(&clock), shared_store(&clock));
    filled(&from, &clock);
    block_on(open_at(ROOMS, to.clone(), &clock));
    let before = raw_rows(&*to);
    let refused = block_on(copy(&from, &to, &clock)).expect_err("it has data");
    assert!(refused.to_string().contains("already contains data"), "{refused}");
    assert_eq!(raw_rows(&*to), before);
}

#[test]
fn an_unfinished_copy_continues_from_the_same_source_only() {
    let clock = ManualClock::new();
    let (from, other, to) = (embedded(&clock), embedded(&clock), shared_store(&clock));
    filled(&from, &clock);
    filled(&other, &clock);
    let old = block_on(source(&from, &clock)).expect("it opens");
    let target = block_on(StoreTarget::begin(&old, to.clone(), options(&clock), 3));
    drop(target.expect("it begins"));
    let refused = block_on(copy(&other, &to, &clock)).expect_err("it is another source");
    assert!(refused.to_string().contains("another source"), "{refused}");
    let refused = block_on(copy(&to, &embedded(&clock), &clock)).expect_err("it is unfinished");
    assert!(matches!(refused, Error::UnfinishedCopy), "{refused}");
    copied(&from, &to, &clock);
    assert_clean(&block_on(open_at(SHOP, to, &clock)));
}

#[test]
fn writes_to_a_source_without_snapshots_are_noticed() {
    let clock = ManualClock::new();
    let (from, to) = (shared_store(&clock), embedded(&clock));
    let (db, _) = filled(&from, &clock);
    let old = block_on(source(&from, &clock)).expect("it opens");
    let target = block_on(StoreTarget::begin(&old, to.clone(), options(&clock), 3));
    let target = target.expect("it begins");
    block_on(target.fill(&old, &|_| {})).expect("it is filled");
    block_on(db.update("shop", "s2", &json!({ "name": "renamed" }))).expect("it is changed");
    let differs = block_on(target.check(&old, &|_| {})).expect_err("they differ");
    assert!(differs.to_string().contains("some of 2 `shop` differ"), "{differs}");
    let opened = block_on(Db::open_with(SHOP, to, options(&clock)));
    assert!(matches!(opened, Err(Error::UnfinishedCopy)));
}

/// A process that copies, is paused, and continues after another one has finished the copy, must not
/// write into the table that is then in use.
#[test]
fn a_copy_that_was_paused_writes_nothing_after_another_has_finished() {
    let clock = ManualClock::new();
    let (from, to) = (embedded(&clock), shared_store(&clock));
    filled(&from, &clock);
    let old = block_on(source(&from, &clock)).expect("it opens");
    let target = block_on(StoreTarget::begin(&old, to.clone(), options(&clock), 3));
    let paused = target.expect("it begins");
    copied(&from, &to, &clock);
    let db = block_on(open_at(SHOP, to.clone(), &clock));
    block_on(db.delete("shop", "s2")).expect("it is deleted");
    let before = raw_rows(&*to);
    let refused = block_on(paused.fill(&old, &|_| {}));
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(raw_rows(&*to), before);
}

#[test]
fn a_deletion_that_is_under_way_is_completed_or_canceled_in_the_copy() {
    for pauses in (0..).step_by(7) {
        let clock = ManualClock::new();
        let (from, to) = (embedded(&clock), shared_store(&clock));
        let db = block_on(open_at(ROOMS, from.clone(), &clock));
        large_family(&db);
        let contents = |store: &Arc<dyn Store>| {
            let (layout, now_ms) = (first_layout(ROOMS), i64::try_from(clock.now().0).unwrap());
            Look { store: &**store, layout: &layout, now_ms, lists: true }.contents()
        };
        let slow = interleave(open_at(ROOMS, pausing(from.clone()), &clock), |_| {});
        let is_done = stop_after(pauses, slow.delete("room", "hall")).is_some();
        copied(&from, &to, &clock);
        let copy = block_on(open_at(ROOMS, to.clone(), &clock));
        assert_eq!(contents(&to), contents(&from), "after {pauses} calls");
        end_deletions(&copy, &clock);
        end_deletions(&db, &clock);
        assert_eq!(contents(&to), contents(&from), "after {pauses} calls, at the end");
        assert_clean(&copy);
        if is_done {
            return;
        }
    }
}
