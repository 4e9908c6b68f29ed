//! The order of creation, in a process with a store of its own and with several processes on one store: an
//! entity that is created after another was answered follows it in lists, whichever processes created them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use keyloom::{Db, Entry, Error, Existing, Filter, Record};
use keyloom_store::{Answer, Error as StoreError, MemoryStore, Store, UpdateItem};
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{Front, InFront, ManualClock, Random};
use keyloom_value::{Item, Value};
use pollster::block_on;
use serde_json::json;

use crate::rig::{findings, memory_store_at, open_any, open_at, plain_store};

const MODEL: &str = r#"
[entity.task]
fields.name = "text"
fields.tags = "tags"
list.all = {}
"#;

const PROCESSES: usize = 4;

/// A create that is under way, and the step at which it began.
struct Begun<'d> {
    name: String,
    began: usize,
    work: Pin<Box<dyn Future<Output = Result<Record, Error>> + 'd>>,
}

/// A create that was answered.
struct Answered {
    name: String,
    began: usize,
    ended: usize,
}

/// Starts, resumes and drops creates of several processes in random order.
fn run(dbs: &[Db], random: &mut Random) -> Vec<Answered> {
    let (mut begun, mut answered): (Vec<Begun<'_>>, Vec<Answered>) = (vec![], vec![]);
    for step in 0..600 {
        if begun.is_empty() || (begun.len() < 5 && step < 500 && random.chance(1, 8)) {
            let (db, name) = (random.pick(dbs), format!("task {step}"));
            let document = json!({ "name": name, "tags": { "a": "b" } });
            let work = Box::pin(async move { db.create("task", &document).await });
            begun.push(Begun { name, began: step, work });
        }
        let at = random.below(begun.len() as u64) as usize;
        if random.chance(1, 60) {
            // Its client goes away; it may have been created.
            drop(begun.swap_remove(at));
        } else if let Some(done) = go_on(begun[at].work.as_mut()) {
            done.expect("it is created");
            let Begun { name, began, .. } = begun.swap_remove(at);
            answered.push(Answered { name, began, ended: step });
        }
    }
    answered
}

fn text(task: &Record) -> String {
    task.get("name").and_then(Value::as_s).expect("it has a name").to_owned()
}

/// The names in a list of all tasks, page by page.
fn names(db: &Db, filter: Option<Filter>, limit: u32) -> Vec<String> {
    let mut query = db.list("task", "all").limit(limit);
    query = filter.into_iter().fold(query, |query, filter| query.filter(filter));
    let mut found = vec![];
    loop {
        let page = block_on(query.read()).expect("a page");
        found.extend(page.items.iter().map(text));
        let Some(next) = page.next else { return found };
        query = query.after(next);
    }
}

fn check(listed: &[String], answered: &[Answered]) {
    let at = |name: &str| listed.iter().position(|listed| listed == name).expect("it is listed");
    for first in answered {
        for second in answered.iter().filter(|second| first.ended < second.began) {
            assert!(at(&first.name) < at(&second.name), "{} {}", first.name, second.name);
        }
    }
}

#[test]
fn an_entity_follows_those_that_were_created_before() {
    for seed in 0..20 {
        let (clock, mut random) = (ManualClock::default(), Random::new(seed));
        let plain = plain_store(&clock);
        let store = pausing(plain.clone());
        let open = |_| open_any(MODEL, &store, &clock);
        let dbs: Vec<Db> = (0..PROCESSES).map(open).collect();
        let answered = run(&dbs, &mut random);
        assert!(answered.len() > 20, "seed {seed}: {}", answered.len());
        let reader = open_any(MODEL, &plain, &clock);
        check(&names(&reader, None, 7), &answered);
        check(&names(&reader, Some(Filter::tag("a", "b")), 7), &answered);
        assert_eq!(block_on(findings(&reader)), [""; 0], "seed {seed}");
    }
}

/// A store that no other process has, as the embedded engine is one, with calls that can be interleaved.
struct Alone(MemoryStore);

impl Front for Alone {
    fn behind(&self) -> &dyn Store {
        &self.0
    }

    fn opening(&self) -> Option<u64> {
        Some(1)
    }
}

fn open_alone(clock: &ManualClock) -> Db {
    let store = pausing(Arc::new(InFront(Alone(memory_store_at(clock)))));
    let db = block_on(open_at(MODEL, store, clock));
    assert!(!db.is_shared(), "it allocates blocks");
    db
}

/// A process with a store of its own allocates blocks of ordinals. Two of them at once made whoever came later
/// continue the lower one, behind the cursors of readers.
#[test]
fn an_entity_follows_those_before_in_a_store_of_one_process() {
    for seed in 0..60 {
        let (clock, mut random) = (ManualClock::default(), Random::new(seed));
        let dbs = [open_alone(&clock)];
        let answered = run(&dbs, &mut random);
        assert!(answered.len() > 20, "seed {seed}: {}", answered.len());
        check(&names(&dbs[0], None, 7), &answered);
        assert_eq!(block_on(findings(&dbs[0])), [""; 0], "seed {seed}");
    }
}

/// An import has up to 64 transactions of several entities under way, which it sends in the order of the lines.
#[test]
fn entities_that_are_sent_in_an_order_are_listed_in_it() {
    const LINES: u32 = 3_000;
    let db = open_alone(&ManualClock::default());
    let import = |number: u32| {
        let entry = |number: u32| Entry {
            entity: "task".to_owned(),
            tenant: None,
            id: number.to_string(),
            fields: Item::from_iter([
                ("name".into(), Value::from(number.to_string())),
                ("tags".into(), Value::M(Item::new())),
            ]),
        };
        let entries = (number..LINES.min(number + 7)).map(entry).collect();
        let db = &db;
        async move { db.import(entries, Existing::Keep).await }
    };
    let transactions = stream::iter((0..LINES).step_by(7).map(import)).buffered(64);
    for imported in block_on(transactions.collect::<Vec<_>>()) {
        imported.expect("they are imported");
    }
    let expected: Vec<String> = (0..LINES).map(|number| number.to_string()).collect();
    assert_eq!(names(&db, None, 1000), expected);
}

/// A store that no other process has. Until it is repaired, it fails updates outside of transactions.
struct Broken {
    store: Alone,
    is_repaired: Arc<AtomicBool>,
    /// The first ordinal that is not allocated.
    next: Arc<AtomicU64>,
}

impl Front for Broken {
    fn behind(&self) -> &dyn Store {
        self.store.behind()
    }

    fn opening(&self) -> Option<u64> {
        self.store.opening()
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            if !self.is_repaired.load(Ordering::Relaxed) {
                return Err(StoreError::Closed);
            }
            let image = self.behind().update(update).await?;
            let next = image.as_ref().and_then(|row| row.get("next")?.as_n()?.to_i64());
            self.next.store(next.unwrap().unsigned_abs(), Ordering::Relaxed);
            Ok(image)
        })
    }
}

/// A block is for the creates that wait. Those that have failed before do not.
#[test]
fn creates_that_have_failed_get_no_ordinals() {
    let clock = ManualClock::default();
    let (is_repaired, next): (Arc<AtomicBool>, Arc<AtomicU64>) = Default::default();
    let store = Alone(memory_store_at(&clock));
    let broken = Broken { store, is_repaired: is_repaired.clone(), next: next.clone() };
    let db = block_on(open_at(MODEL, Arc::new(InFront(broken)), &clock));
    let create = || block_on(db.create("task", &json!({ "name": "a", "tags": {} })));
    for _ in 0..10_000 {
        create().expect_err("the store fails");
    }
    is_repaired.store(true, Ordering::Relaxed);
    create().expect("a task");
    let next = next.load(Ordering::Relaxed);
    assert!((1..=5_000).contains(&next), "{next}");
}

/// Counts the rows that are updated outside of transactions, which ordinals are allocated by.
struct Counting {
    store: Arc<dyn Store>,
    updates: Arc<AtomicU64>,
}

impl Front for Counting {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        self.updates.fetch_add(1, Ordering::Relaxed);
        self.store.update(update)
    }
}

#[test]
fn creates_that_wait_at_the_same_time_allocate_ordinals_together() {
    let clock = ManualClock::default();
    let updates = Arc::new(AtomicU64::new(0));
    let counting = Counting { store: pausing(plain_store(&clock)), updates: updates.clone() };
    let store: Arc<dyn Store> = Arc::new(InFront(counting));
    let db = open_any(MODEL, &store, &clock);
    block_on(db.create("task", &json!({ "name": "first", "tags": {} }))).expect("a task");
    updates.store(0, Ordering::Relaxed);
    let create = |number: u32| {
        let db = &db;
        async move { db.create("task", &json!({ "name": format!("{number}"), "tags": {} })).await }
    };
    for created in block_on(join_all((0..400).map(create))) {
        created.expect("a task");
    }
    let allocations = updates.load(Ordering::Relaxed);
    assert!(allocations <= 3, "{allocations} allocations");
    assert_eq!(names(&db, None, 1000).len(), 401);
    assert_eq!(block_on(findings(&db)), [""; 0]);
}
