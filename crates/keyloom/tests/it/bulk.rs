//! Bulk changes: whatever interrupts them and whoever writes meanwhile, each entity that is in the query
//! from the start until it is reached is changed once, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyloom::bulk::{Bulk, BulkKind, BulkOperation, BulkState};
use keyloom::copy::{StoreSource, StoreTarget};
use keyloom::events::{Handlers, Next};
use keyloom::{Change, Clock, Db, Error, Filter, ListQuery, OperationKind, Options};
use keyloom_store::Store;
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cases::for_all;
use crate::rig::{
    assert_clean, each_store, engine_on, memory_store_at, open, open_at, plain_store, shared_store,
};

/// `applied` is written by bulk changes alone. Many of them are refused: `points` has a limit, and an
/// item with a note cannot be deleted.
const MODEL: &str = r#"
[entity.item]
id = "given"
filters = ["points"]
fields.group = "enum(a, b, c)"
fields.state = "enum(open, done)"
fields.rank = "int"
fields.points = "int 0..5"
fields.applied = "int = 0"
fields.labels = "tags"
list.all = { order = "rank", facets = ["state"] }
list.of_group = { by = "group", order = "-rank" }
list.open = { order = "rank", where = { state = "open" } }
count.by_group = { by = "group", sum = ["points", "applied"] }
board.best = { rank = "points" }

[entity.note]
id = "given"
fields.item = "ref item refuse"
"#;

const GROUPS: [&str; 3] = ["a", "b", "c"];
const STATES: [&str; 2] = ["open", "done"];

fn item(id: usize, random: &mut Random) -> Json {
    let mut pick = |below: u64| usize::try_from(random.below(below)).unwrap();
    json!({
        "id": format!("i{id}"),
        "group": GROUPS[pick(3)],
        "state": STATES[pick(2)],
        "rank": pick(8),
        "points": pick(6),
        "labels": { "team": format!("t{}", pick(2)) },
    })
}

/// The queries, each with what it means.
#[derive(Clone, Copy, Debug)]
enum Wish {
    All,
    OfGroup,
    Open,
    Facet,
    Ranks,
    Tag,
    Points,
    Mixed,
}

const WISHES: [Wish; 8] = [
    Wish::All,
    Wish::OfGroup,
    Wish::Open,
    Wish::Facet,
    Wish::Ranks,
    Wish::Tag,
    Wish::Points,
    Wish::Mixed,
];

impl Wish {
    fn query(self, db: &Db) -> ListQuery {
        let all = db.list("item", "all");
        match self {
            Wish::All => all,
            Wish::OfGroup => db.list("item", "of_group").by("group", "a"),
            Wish::Open => db.list("item", "open"),
            Wish::Facet => all.facet("state", ["open"]),
            Wish::Ranks => all.at_least("rank", 2).less_than("rank", 6),
            Wish::Tag => all.tag("team", "t1"),
            Wish::Points => all.filter(Filter::range("points", 2..=4)),
            Wish::Mixed => {
                let tagged = Filter::tag("team", "t0");
                let any = Filter::any([tagged, Filter::range("points", 3..)]);
                db.list("item", "of_group").by("group", "b").filter(any.not())
            }
        }
    }

    fn has(self, item: &Json) -> bool {
        let number = |name: &str| item[name].as_i64().unwrap();
        let is_tagged = |value: &str| item["labels"]["team"] == value;
        match self {
            Wish::All => true,
            Wish::OfGroup => item["group"] == "a",
            Wish::Open | Wish::Facet => item["state"] == "open",
            Wish::Ranks => (2..6).contains(&number("rank")),
            Wish::Tag => is_tagged("t1"),
            Wish::Points => (2..=4).contains(&number("points")),
            Wish::Mixed => item["group"] == "b" && !is_tagged("t0") && number("points") < 3,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Add,
    /// Moves entities in lists, out of the query or around in it.
    Move,
    Delete,
}

impl Deed {
    fn patch(self) -> Json {
        match self {
            Deed::Add => json!({ "points": { "$add": 1 }, "applied": { "$add": 1 } }),
            Deed::Move | Deed::Delete => json!({
                "group": "c", "state": "done", "rank": { "$add": 3 }, "applied": { "$add": 1 },
            }),
        }
    }

    fn bulk(self, query: &ListQuery) -> Bulk {
        match self {
            Deed::Add | Deed::Move => query.update_all(&self.patch()).unwrap(),
            Deed::Delete => query.delete_all(),
        }
    }
}

/// All items by id, and the items that have notes.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    items: BTreeMap<String, Json>,
    noted: BTreeSet<String>,
}

impl Seen {
    /// Of one moment: the engine may be about to end a transaction that was begun.
    fn of(db: &Db, ids: usize) -> Seen {
        let db = block_on(db.at_one_moment()).expect("there are snapshots");
        let get = |kind: &str, id: String| {
            let found = block_on(db.get(kind, &id)).expect("it is read")?;
            Some((id, serde_json::from_str::<Json>(&found.to_json()).unwrap()))
        };
        let items = (0..ids).filter_map(|id| get("item", format!("i{id}"))).collect();
        let notes = (0..ids).filter_map(|id| get("note", format!("i{id}")));
        Seen { items, noted: notes.map(|(id, _)| id).collect() }
    }

    fn can_be_done(&self, deed: Deed, id: &str) -> bool {
        match deed {
            Deed::Add => self.items[id]["points"].as_i64() < Some(5),
            Deed::Move => true,
            Deed::Delete => !self.noted.contains(id),
        }
    }
}

#[derive(Clone, Debug)]
struct Case {
    kind: Kind,
    seed: u64,
    items: usize,
    wish: usize,
    deed: Deed,
    /// Of 100 pauses, how many have a write, and how many are the last of a process.
    writes: u64,
    deaths: u64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Engine,
    Shared,
    Plain,
}

fn case() -> impl Strategy<Value = Case> {
    let kind = prop_oneof![Just(Kind::Engine), Just(Kind::Shared), Just(Kind::Plain)];
    let deed = prop_oneof![Just(Deed::Add), Just(Deed::Move), Just(Deed::Delete)];
    let rates = (prop_oneof![Just(0), 0_u64..40], prop_oneof![Just(0), 0_u64..6]);
    (kind, any::<u64>(), 0_usize..24, 0..WISHES.len(), deed, rates).prop_map(
        |(kind, seed, items, wish, deed, (writes, deaths))| Case {
            kind,
            seed,
            items,
            wish,
            deed,
            writes,
            deaths,
        },
    )
}

/// A store, and two databases on it: one pauses before every step, the other one does not.
struct World {
    kind: Kind,
    clock: ManualClock,
    disk: SimDisk,
    store: Arc<dyn Store>,
}

impl World {
    fn new(kind: Kind) -> World {
        let (clock, disk) = (ManualClock::new(), SimDisk::new(0));
        let store: Arc<dyn Store> = match kind {
            Kind::Engine => Arc::new(engine_on(&disk, &clock)),
            Kind::Shared => shared_store(&clock),
            Kind::Plain => plain_store(&clock),
        };
        World { kind, clock, disk, store }
    }

    fn quick(&self) -> Db {
        block_on(open_at(MODEL, self.store.clone(), &self.clock))
    }

    fn slow(&self) -> Db {
        let mut opening = Box::pin(open_at(MODEL, pausing(self.store.clone()), &self.clock));
        loop {
            if let Some(db) = go_on(opening.as_mut()) {
                return db;
            }
        }
    }

    /// The process is killed. Others notice after a while, by the lease that it does not renew.
    fn die(&mut self) {
        if let Kind::Engine = self.kind {
            self.store = Arc::new(memory_store_at(&self.clock));
            self.store = Arc::new(engine_on(&self.disk, &self.clock));
        }
        self.clock.advance_ms(601_000);
    }
}

/// What is known of an operation so far.
struct Watched {
    wish: Wish,
    deed: Deed,
    ids: usize,
    last: Seen,
    /// Items that could be changed in every state since the start.
    due: BTreeSet<String>,
    /// Items that were in the query in some state before the operation was running.
    found: BTreeSet<String>,
    changed: BTreeSet<String>,
}

impl Watched {
    fn new(case: &Case, db: &Db, ids: usize) -> Watched {
        let (wish, deed, last) = (WISHES[case.wish], case.deed, Seen::of(db, ids));
        let due = last.items.keys().cloned().collect();
        let (found, changed) = (BTreeSet::new(), BTreeSet::new());
        let mut watched = Watched { wish, deed, ids, last, due, found, changed };
        watched.learn(true);
        watched
    }

    /// A state that no bulk change has made.
    fn learn(&mut self, is_collecting: bool) {
        let (wish, deed, last) = (self.wish, self.deed, &self.last);
        let is_listed = |id: &String| last.items.get(id).is_some_and(|item| wish.has(item));
        self.due.retain(|id| is_listed(id) && last.can_be_done(deed, id));
        if is_collecting {
            self.found.extend(last.items.keys().filter(|id| is_listed(id)).cloned());
        }
    }

    /// Compares the state after a step with the one before it. Whatever was not written by others is a
    /// bulk change. Without snapshots, an item that moves while a list is read can be missed.
    fn step(&mut self, db: &Db, (kind, is_collecting): (Kind, bool), written: Option<&str>) {
        let now = Seen::of(db, self.ids);
        let before = std::mem::replace(&mut self.last, now);
        for (id, item) in &before.items {
            let after = self.last.items.get(id).cloned();
            if written == Some(id) {
                let is_missed = matches!(kind, Kind::Shared) && is_collecting;
                let applied = |item: &Json| item["applied"] == 1;
                if after.as_ref().is_some_and(applied) && !applied(item) {
                    assert!(self.changed.insert(id.clone()), "{id} was changed twice: {item}");
                }
                if is_missed || self.changed.contains(id) {
                    self.due.remove(id);
                }
            } else if after.as_ref() != Some(item) {
                assert!(!is_collecting, "{id} was changed before all were collected");
                self.changed(id, item, after.as_ref());
            }
        }
        assert!(self.last.items.keys().all(|id| before.items.contains_key(id)), "all are old");
        self.learn(is_collecting);
    }

    /// A bulk change.
    fn changed(&mut self, id: &str, before: &Json, after: Option<&Json>) {
        assert!(self.found.contains(id), "{id} was not found: {before} to {after:?}");
        assert!(self.wish.has(before), "{id} was not in the query: {before} to {after:?}");
        assert!(self.changed.insert(id.to_owned()), "{id} was changed twice: {before}");
        self.due.remove(id);
        match (self.deed, after) {
            (Deed::Delete, None) => {}
            (Deed::Delete, Some(_)) | (_, None) => panic!("{id}: {before} to {after:?}"),
            (deed, Some(after)) => assert_eq!(without_version(after), patched(before, deed)),
        }
    }
}

fn without_version(item: &Json) -> Json {
    let mut item = item.clone();
    item.as_object_mut().unwrap().remove("version");
    item
}

fn patched(item: &Json, deed: Deed) -> Json {
    let mut item = without_version(item);
    for (name, change) in deed.patch().as_object().unwrap() {
        item[name] = match change["$add"].as_i64() {
            Some(add) => json!(item[name].as_i64().unwrap() + add),
            None => change.clone(),
        };
    }
    item
}

/// A write of somebody else. Refusals are as good as successes. Nobody creates what was deleted: then
/// nobody could tell whether it was changed twice.
fn write(db: &Db, random: &mut Random, ids: usize) -> String {
    let id = format!("i{}", random.below(ids.max(1) as u64));
    let mut new = item(0, random);
    let drawn = random.below(8);
    let _ = match drawn {
        0 => block_on(db.delete("item", &id)).map(|_| ()),
        1 => block_on(db.create("note", &json!({ "id": id, "item": id }))).map(|_| ()),
        2 => block_on(db.delete("note", &id)).map(|_| ()),
        _ => {
            let names = ["group", "state", "rank", "points", "labels"];
            let name = names[usize::try_from(random.below(5)).unwrap()];
            let patch = json!({ name: new[name].take() });
            block_on(db.update("item", &id, &patch)).map(|_| ())
        }
    };
    id
}

fn play(case: &Case) {
    let mut world = World::new(case.kind);
    let mut random = Random::new(case.seed);
    let mut quick = world.quick();
    for id in 0..case.items {
        block_on(quick.create("item", &item(id, &mut random))).expect("it is created");
        if random.below(4) == 0 {
            let note = json!({ "id": format!("i{id}"), "item": format!("i{id}") });
            block_on(quick.create("note", &note)).expect("it is created");
        }
    }
    let started = block_on(case.deed.bulk(&WISHES[case.wish].query(&quick)).start()).unwrap();
    let id = started.operation.id;
    let mut watched = Watched::new(case, &quick, case.items);
    let mut slow = world.slow();
    let operation = |db: &Db| block_on(db.bulk_operation(&id)).unwrap().expect("it is known");
    let mut steps = 0;
    'operation: loop {
        let step_db = slow.clone();
        let mut work = Box::pin(async move { step_db.advance_bulk().await });
        let next = loop {
            let before = operation(&quick).state;
            if let Some(done) = go_on(work.as_mut()) {
                break done.expect("it goes on");
            }
            steps += 1;
            assert!(steps < 100_000, "it does not end: {:?}", operation(&quick));
            let is_collecting = before == BulkState::Collecting;
            let when = (case.kind, is_collecting);
            watched.step(&quick, when, None);
            if random.below(100) < case.writes {
                let id = write(&quick, &mut random, case.items);
                watched.step(&quick, when, Some(&id));
            }
            if random.below(100) < case.deaths {
                drop((work, slow, quick));
                world.die();
                (quick, slow) = (world.quick(), world.slow());
                continue 'operation;
            }
        };
        watched.step(&quick, (case.kind, false), None);
        match next {
            Next::Now => {}
            // The lease of a process that has died.
            Next::At(_) => world.clock.advance_ms(601_000),
            Next::Idle => break,
        }
    }
    check_end(&watched, &operation(&quick));
    for _ in 0..3 {
        block_on(quick.resume_deletions()).expect("they end");
        world.clock.advance_ms(601_000);
    }
    assert_clean(&quick);
    assert_eq!(block_on(quick.operations()).unwrap(), []);
}

fn check_end(watched: &Watched, done: &BulkOperation) {
    assert_eq!(done.state, BulkState::Done);
    assert_eq!(watched.due, BTreeSet::new(), "these should have been changed: {done:?}");
    assert_eq!(done.done(), done.matched, "{done:?}");
    assert!(done.changed >= watched.changed.len() as u64, "{done:?}");
    assert_eq!(done.failures.len() as u64, done.failed.min(20));
    for item in watched.last.items.values() {
        assert!(item["applied"].as_i64() <= Some(1), "{item}");
    }
}

#[test]
fn each_entity_is_changed_once_whatever_interrupts_and_whoever_writes() {
    for_all(40, case(), |case| play(&case));
}

/// Runs all operations to their ends; returns one of them.
fn run(db: &Db, clock: &ManualClock, id: &str) -> BulkOperation {
    for _ in 0..100_000 {
        match block_on(db.advance_bulk()).expect("it goes on") {
            Next::Now => {}
            Next::At(_) => clock.advance_ms(601_000),
            Next::Idle => return block_on(db.bulk_operation(id)).unwrap().expect("it is known"),
        }
    }
    panic!("it does not end");
}

fn start(bulk: &Bulk) -> BulkOperation {
    let started = block_on(bulk.start()).expect("it starts");
    assert!(!started.is_replayed);
    started.operation
}

/// Creates items with increasing ranks, of which `rare` are in the group `a`, and the others in `b`.
fn fill(db: &Db, count: usize, rare: usize) {
    let create = |id: usize| {
        let group = if id.is_multiple_of(count / rare) { "a" } else { "b" };
        let labels = json!({ "team": format!("t{}", id % 2) });
        let item = json!({
            "id": format!("i{id}"), "group": group, "state": "open", "rank": id, "points": 0,
            "labels": labels,
        });
        Change::create("item", &item).unwrap()
    };
    let all: Vec<usize> = (0..count).collect();
    for some in all.chunks(20) {
        block_on(db.transact(some.iter().copied().map(create).collect())).expect("created");
    }
}

fn applied(db: &Db, id: &str) -> Option<i64> {
    block_on(db.get("item", id)).unwrap()?.get("applied")?.as_n()?.to_i64()
}

#[test]
fn two_processes_that_run_one_operation_at_the_same_time_change_each_entity_once() {
    for_all(20, (any::<u64>(), any::<bool>()), |(seed, deletes)| {
        let (clock, mut random) = (ManualClock::new(), Random::new(seed));
        let store = shared_store(&clock);
        let world = World { kind: Kind::Shared, clock, disk: SimDisk::new(0), store };
        let quick = world.quick();
        fill(&quick, 60, 20);
        let query = quick.list("item", "all");
        let bulk = if deletes { query.delete_all() } else { Deed::Add.bulk(&query) };
        let id = start(&bulk).id;
        let dbs = [world.slow(), world.slow()];
        let advance = |which: usize| {
            let db = dbs[which].clone();
            Box::pin(async move { db.advance_bulk().await })
        };
        let mut works = [advance(0), advance(1)];
        let mut is_ended = false;
        for _ in 0..200_000 {
            let which = random.index(2);
            if let Some(next) = go_on(works[which].as_mut()) {
                works[which] = advance(which);
                let state = block_on(quick.bulk_operation(&id)).unwrap().unwrap().state;
                is_ended = state.is_ended() && next.expect("it goes on") == Next::Idle;
                if is_ended {
                    break;
                }
                // Each takes the other one for dead, again and again.
                clock_forward(&world.clock, &mut random);
            }
        }
        assert!(is_ended);
        let done = block_on(quick.bulk_operation(&id)).unwrap().unwrap();
        let counts = (done.state, done.matched, done.changed, done.skipped, done.failed);
        assert_eq!(counts, (BulkState::Done, 60, 60, 0, 0));
        let expected = if deletes { None } else { Some(1) };
        assert!((0..60).all(|id| applied(&quick, &format!("i{id}")) == expected));
        drop(works);
        assert_clean(&quick);
    });
}

fn clock_forward(clock: &ManualClock, random: &mut Random) {
    if random.below(3) == 0 {
        clock.advance_ms(601_000);
    }
}

#[test]
fn rare_and_common_values_of_twenty_thousand_entities_are_changed() {
    let clock = ManualClock::new();
    // The store in memory takes a time that grows with the square of the number.
    let store = Arc::new(engine_on(&SimDisk::new(0), &clock));
    let db = block_on(open_at(MODEL, store, &clock));
    fill(&db, 20_000, 20);
    let of_group = |group: &str| db.list("item", "of_group").by("group", group);
    let rare = start(&of_group("a").update_all(&Deed::Add.patch()).unwrap());
    let common = start(&db.list("item", "all").tag("team", "t1").delete_all());
    let rare = run(&db, &clock, &rare.id);
    assert_eq!((rare.state, rare.matched, rare.changed), (BulkState::Done, 20, 20));
    let common = run(&db, &clock, &common.id);
    assert_eq!((common.matched, common.changed), (10_000, 10_000));
    let rest = start(&of_group("b").update_all(&Deed::Add.patch()).unwrap());
    let rest = run(&db, &clock, &rest.id);
    // Every thousandth is in the other group.
    assert_eq!((rest.matched, rest.changed, rest.done()), (9_980, 9_980, 9_980));
    let sums = block_on(db.count("item", "by_group").by("group", "b").read()).unwrap().items;
    assert_eq!(sums[0].sums.get("applied").and_then(|sum| sum.as_n()?.to_i64()), Some(9_980));
    let total = block_on(db.list("item", "all").total()).unwrap();
    assert_eq!(total.count, 10_000);
    assert_clean(&db);
}

#[test]
fn progress_is_visible_and_a_canceled_operation_changes_nothing_more() {
    each_store(|store| {
        let clock = ManualClock::new();
        let db = block_on(open_at(MODEL, store, &clock));
        fill(&db, 300, 20);
        let id = start(&Deed::Add.bulk(&db.list("item", "all"))).id;
        let now = || block_on(db.bulk_operation(&id)).unwrap().unwrap();
        let progress = |one: &BulkOperation| (one.state, one.matched, one.changed);
        assert_eq!(progress(&now()), (BulkState::Collecting, 0, 0));
        assert_eq!(block_on(db.advance_bulk()).unwrap(), Next::Now);
        assert_eq!(progress(&now()), (BulkState::Running, 300, 0));
        assert_eq!(block_on(db.advance_bulk()).unwrap(), Next::Now);
        let half = now();
        assert!(half.changed > 0 && half.changed < 300, "{half:?}");
        let running = block_on(db.operations()).unwrap();
        let seen = (running[0].kind, running[0].of.as_str(), running[0].done, running[0].total);
        assert_eq!(seen, (OperationKind::Bulk, "item", half.changed, Some(300)));

        clock.advance_ms(5);
        let canceled = block_on(db.cancel_bulk(&id)).unwrap();
        assert_eq!((canceled.state, canceled.changed), (BulkState::Canceled, half.changed));
        assert_eq!(canceled.ended_ms, i64::try_from(clock.now().0).ok());
        let again = block_on(db.cancel_bulk(&id)).unwrap_err();
        assert!(matches!(again, Error::OperationEnded { state: BulkState::Canceled, .. }));
        assert_eq!(run(&db, &clock, &id), canceled);
        let changed = (0..300).filter(|id| applied(&db, &format!("i{id}")) == Some(1)).count();
        assert_eq!(changed as u64, half.changed);
        assert_eq!(block_on(db.operations()).unwrap(), []);
        assert_clean(&db);

        let later = start(&db.list("item", "all").delete_all());
        assert_eq!(run(&db, &clock, &later.id).changed, 300);
        let all = block_on(db.bulk_operations(None, 10)).unwrap();
        let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, [later.id.as_str(), id.as_str()]);
        assert_eq!(block_on(db.bulk_operations(Some(&later.id), 10)).unwrap(), [canceled]);
        clock.advance_ms(8 * 24 * 3_600_000);
        assert_eq!(block_on(db.bulk_operation(&id)).unwrap(), None);
        assert_eq!(block_on(db.bulk_operations(None, 10)).unwrap(), []);
    });
}

#[test]
fn entities_that_cannot_be_changed_are_counted_with_their_problem() {
    const UNIQUE: &str = r#"
    [entity.user]
    id = "given"
    fields.name = "text 1..20"
    fields.level = "int 0..9 = 0"
    unique = ["name"]
    list.all = { order = "level" }
    "#;
    each_store(|store| {
        let clock = ManualClock::new();
        let db = block_on(open_at(UNIQUE, store, &clock));
        for number in 10..50 {
            let user = json!({ "id": format!("u{number}"), "name": format!("n{number}") });
            block_on(db.create("user", &user)).unwrap();
        }
        let all = db.list("user", "all");
        let renamed = start(&all.update_all(&json!({ "name": "same" })).unwrap());
        let renamed = run(&db, &clock, &renamed.id);
        assert_eq!((renamed.matched, renamed.changed, renamed.failed), (40, 1, 39));
        assert_eq!(renamed.failures.len(), 20);
        assert!(renamed.failures[0].problem.contains("unique"), "{:?}", renamed.failures);
        let same = start(&all.update_all(&json!({ "level": 0 })).unwrap());
        let same = run(&db, &clock, &same.id);
        assert_eq!((same.matched, same.changed, same.unchanged), (40, 0, 40));
        let high = start(&all.update_all(&json!({ "level": { "$add": 10 } })).unwrap());
        assert_eq!(run(&db, &clock, &high.id).failed, 40);
        assert_clean(&db);
    });
}

#[test]
fn what_can_change_no_entity_is_refused_at_the_start() {
    let db = block_on(open(MODEL, shared_store(&ManualClock::new())));
    let all = db.list("item", "all");
    for patch in [
        json!({ "pints": 1 }),
        json!({ "points": "many" }),
        json!({ "state": "lost" }),
        json!({ "id": "x" }),
        json!({ "version": "x" }),
    ] {
        let refused = block_on(all.update_all(&patch).unwrap().start()).unwrap_err();
        assert!(matches!(refused, Error::Fields { .. }), "{patch}: {refused}");
    }
    let queries = [
        db.list("item", "none"),
        db.list("thing", "all"),
        db.list("item", "of_group"),
        all.clone().equal("group", "a"),
        all.clone().filter(Filter::facet("group", "a")),
    ];
    for query in queries {
        let refused = block_on(query.delete_all().start()).unwrap_err();
        assert!(matches!(refused, Error::Unknown { .. } | Error::Request(_)), "{refused}");
    }
    let huge = json!({ "labels": { "text": "x".repeat(300_000) } });
    let refused = block_on(all.update_all(&huge).unwrap().start()).unwrap_err();
    assert!(matches!(refused, Error::EntityTooLarge { .. }), "{refused}");
    for _ in 0..20 {
        start(&all.delete_all());
    }
    let refused = block_on(all.delete_all().start()).unwrap_err();
    assert!(matches!(refused, Error::TooManyOperations { operations_max: 20 }), "{refused}");
    for id in ["", "x", "01k0g5t4d8c6w3b1n9r7q2z5mx", &"é".repeat(3000)] {
        assert_eq!(block_on(db.bulk_operation(id)).unwrap(), None);
        assert!(matches!(block_on(db.cancel_bulk(id)).unwrap_err(), Error::NotFound { .. }));
    }
}

#[test]
fn a_key_starts_one_operation() {
    each_store(|store| {
        let clock = ManualClock::new();
        let db = block_on(open_at(MODEL, store, &clock));
        fill(&db, 40, 20);
        let bulk = Deed::Add.bulk(&db.list("item", "all")).idempotent("key");
        let first = start(&bulk);
        let again = block_on(bulk.start()).unwrap();
        assert_eq!((again.is_replayed, &again.operation.id), (true, &first.id));
        run(&db, &clock, &first.id);
        let ended = block_on(bulk.start()).unwrap();
        assert_eq!((ended.is_replayed, ended.operation.changed), (true, 40));
        let other = Deed::Move.bulk(&db.list("item", "all")).idempotent("key");
        assert!(matches!(block_on(other.start()).unwrap_err(), Error::KeyReused { .. }));
        let narrower = Deed::Add.bulk(&db.list("item", "open")).idempotent("key");
        assert!(matches!(block_on(narrower.start()).unwrap_err(), Error::KeyReused { .. }));
        let change = Change::delete("item", "i0");
        let change = block_on(db.transact_idempotent("key", vec![change])).unwrap_err();
        assert!(matches!(change, Error::KeyReused { .. }), "{change}");
        assert_eq!(run(&db, &clock, &first.id).changed, 40);
        assert!((0..40).all(|id| applied(&db, &format!("i{id}")) == Some(1)));
    });
}

#[test]
fn an_operation_is_of_one_tenant() {
    const TENANTS: &str = r#"
    [entity.item]
    id = "given"
    tenant = "owner"
    fields.owner = "text"
    fields.rank = "int = 0"
    list.all = { order = "rank" }
    "#;
    each_store(|store| {
        let clock = ManualClock::new();
        let db = block_on(open_at(TENANTS, store, &clock));
        let (ann, bob) = (db.tenant("ann"), db.tenant("bob"));
        for tenant in [&ann, &bob] {
            for id in ["1", "2", "3"] {
                block_on(tenant.create("item", &json!({ "id": id }))).unwrap();
            }
        }
        let id = start(&ann.list("item", "all").delete_all()).id;
        for other in [&bob, &db] {
            assert_eq!(block_on(other.bulk_operation(&id)).unwrap(), None);
            assert_eq!(block_on(other.bulk_operations(None, 10)).unwrap(), []);
            assert!(matches!(block_on(other.cancel_bulk(&id)), Err(Error::NotFound { .. })));
        }
        // Whoever runs it, it is that of its tenant.
        while block_on(bob.advance_bulk()).unwrap() == Next::Now {}
        assert_eq!(block_on(ann.bulk_operation(&id)).unwrap().unwrap().changed, 3);
        let left = |tenant: &Db| block_on(tenant.list("item", "all").read()).unwrap().items.len();
        assert_eq!((left(&ann), left(&bob)), (0, 3));
        let missing = block_on(db.list("item", "all").delete_all().start()).unwrap_err();
        assert!(matches!(missing, Error::Tenant { .. }), "{missing}");
        assert_clean(&db);
    });
}

#[test]
fn large_deletions_are_part_of_it() {
    const FOLDERS: &str = r#"
    [entity.folder]
    id = "given"
    fields.size = "int"
    list.all = { order = "size" }

    [entity.file]
    id = "given"
    parent = "folder"
    on_parent_delete = "cascade"
    "#;
    let clock = ManualClock::new();
    for store in [plain_store(&clock), shared_store(&clock)] {
        let db = block_on(open_at(FOLDERS, store, &clock));
        for folder in 0..3 {
            let folder = folder.to_string();
            block_on(db.create("folder", &json!({ "id": folder, "size": 1 }))).unwrap();
            for file in 0..130 {
                let file = json!({ "id": format!("{folder}-{file}"), "folder": folder });
                block_on(db.create("file", &file)).unwrap();
            }
        }
        let id = start(&db.list("folder", "all").equal("size", 1).delete_all()).id;
        let done = run(&db, &clock, &id);
        assert_eq!((done.matched, done.changed, done.failed), (3, 3, 0));
        assert!(block_on(db.get("file", "2-129")).unwrap().is_none());
        assert_clean(&db);
    }
}

#[test]
fn an_operation_whose_list_is_gone_fails_and_leaves_nothing() {
    each_store(|store| {
        let clock = ManualClock::new();
        let db = block_on(open_at(MODEL, store.clone(), &clock));
        fill(&db, 300, 20);
        let id = start(&Deed::Add.bulk(&db.list("item", "open"))).id;
        for _ in 0..2 {
            assert_eq!(block_on(db.advance_bulk()).unwrap(), Next::Now);
        }
        let without =
            MODEL.replace("list.open = { order = \"rank\", where = { state = \"open\" } }", "");
        block_on(db.change_model(&without)).unwrap();
        let failed = run(&db, &clock, &id);
        assert_eq!((failed.state, failed.matched), (BulkState::Failed, 300));
        assert!(failed.problem.unwrap().contains("no list `open`"));
        assert!(failed.changed > 0 && failed.changed < 300);
        assert_clean(&db);
    });
}

fn copy(from: &Arc<dyn Store>, to: &Arc<dyn Store>, clock: &ManualClock) {
    let options = || Options { clock: Arc::new(clock.clone()), ..Options::default() };
    let copied = async {
        let from = StoreSource::open(from.clone(), options(), None).await?;
        let target = StoreTarget::begin(&from, to.clone(), options(), 3).await?;
        target.fill(&from, &|_| {}).await?;
        target.check(&from, &|_| {}).await?;
        target.finish().await
    };
    block_on(copied).expect("it is copied");
}

#[test]
fn a_copy_continues_the_operations_of_its_source() {
    let clock = ManualClock::new();
    let from: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let db = block_on(open_at(MODEL, from.clone(), &clock));
    fill(&db, 300, 20);
    let id = start(&Deed::Add.bulk(&db.list("item", "all"))).id;
    for _ in 0..2 {
        assert_eq!(block_on(db.advance_bulk()).unwrap(), Next::Now);
    }
    let half = block_on(db.bulk_operation(&id)).unwrap().unwrap();
    assert!(half.changed > 0 && half.changed < 300, "{half:?}");
    let to = shared_store(&clock);
    copy(&from, &to, &clock);
    let copy = block_on(open_at(MODEL, to, &clock));
    let done = run(&copy, &clock, &id);
    assert_eq!((done.state, done.changed), (BulkState::Done, 300));
    assert!((0..300).all(|id| applied(&copy, &format!("i{id}")) == Some(1)));
    assert_clean(&copy);
}

#[test]
fn work_runs_operations_too() {
    let clock = ManualClock::new();
    let db = block_on(open_at(MODEL, shared_store(&clock), &clock));
    fill(&db, 300, 20);
    let bulk = start(&Deed::Add.bulk(&db.list("item", "all")));
    assert_eq!((bulk.kind, bulk.entity.as_str()), (BulkKind::Update, "item"));
    let handlers = Handlers::new();
    while block_on(db.work(&handlers)).unwrap().next == Next::Now {}
    assert_eq!(block_on(db.bulk_operation(&bulk.id)).unwrap().unwrap().changed, 300);
}
