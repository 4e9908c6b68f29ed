//! Simulations of workers: writes, failing handlers, dropped futures, several workers of several
//! processes, a clock that jumps, and power failures. Afterwards every event has had its effect once
//! and in the order of its entity, and every job has run.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom::events::{
    Deliver, Delivery, Effects, Event, Failure, Handlers, Job, Next, Position, Retry, Work,
};
use keyloom::{Change, Clock, Db, Entropy, Error, Options, Record};
use keyloom_store::Store;
use keyloom_testkit::pausing::{go_on, interleave, pausing};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use keyloom_value::Value;
use pollster::block_on;
use serde_json::json;

use crate::cases::cases;
use crate::rig::{assert_clean, engine_on, memory_store_at};

const MODEL: &str = r#"
[entity.item]
id = "given"
fields.n = "int"
[entity.thing]
id = "given"
fields.n = "int"
fields.blob = "text?"
[entity.trail]
id = "given"
fields.seen = "list of text"
[entity.tick]
id = "given"
fields.n = "int"

[on.item]
insert = "trail"
update = "trail"
delete = "trail"
[on.thing]
insert = "tick"
update = { job = "bump" }
delete = { webhook = "https://example.com/hook" }
"#;

const LEASE_MS: u64 = 60_000;

/// State that the handlers of all processes share: whether they fail, and what they have received.
#[derive(Debug)]
struct Outside {
    random: Mutex<Random>,
    clock: ManualClock,
    /// How many calls in a hundred fail.
    failing: Mutex<u64>,
    /// Marks of events that always fail.
    poison: Mutex<BTreeSet<String>>,
    /// Keys and bodies in the order of arrival.
    delivered: Mutex<Vec<(String, String)>>,
    /// When the lease of each started job ends, unless it has failed since.
    begun: Mutex<BTreeMap<String, i64>>,
}

impl Outside {
    fn new(seed: u64, clock: &ManualClock) -> Arc<Outside> {
        Arc::new(Outside {
            random: Mutex::new(Random::new(seed)),
            clock: clock.clone(),
            failing: Mutex::new(15),
            poison: Mutex::default(),
            delivered: Mutex::default(),
            begun: Mutex::default(),
        })
    }

    fn fails(&self) -> Result<(), Failure> {
        let failing = *self.failing.lock().unwrap();
        let fate = self.random.lock().unwrap().below(100);
        if fate < failing { Err(Failure::new("it did not work this time")) } else { Ok(()) }
    }

    /// Notes that a job starts, and checks that no other worker runs it within its lease.
    fn begin(&self, job: &Record) {
        let now = i64::try_from(self.clock.now().0).expect("a time");
        let lease = job.get("due").and_then(Value::as_n).and_then(|due| due.to_i64());
        let lease = lease.expect("the lease of a job that runs ends");
        let before = self.begun.lock().unwrap().insert(job.id().to_owned(), lease);
        assert!(before.is_none_or(|before| before <= now), "{} runs twice at once", job.id());
    }

    fn end(&self, job: &Record) {
        self.begun.lock().unwrap().remove(job.id());
    }
}

impl Deliver for Outside {
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            self.fails()?;
            self.delivered.lock().unwrap().push((delivery.key, delivery.body));
            Ok(())
        })
    }
}

/// What identifies an event in a trail.
fn mark(event: &Event) -> String {
    match (&event.old, &event.new) {
        (_, Some(new)) => new.version().to_owned(),
        (Some(old), None) => format!("-{}", old.version()),
        (None, None) => panic!("an event has an image"),
    }
}

/// Adds a mark to a trail.
async fn follow(db: &Db, id: &str, mark: String) -> Result<Effects, Failure> {
    let mut seen: Vec<String> = vec![];
    let change = match db.get("trail", id).await? {
        None => Change::create("trail", &json!({ "id": id, "seen": [mark] }))?,
        Some(trail) => {
            if let Some(Value::L(marks)) = trail.get("seen") {
                seen.extend(marks.iter().filter_map(|mark| mark.as_s().map(str::to_owned)));
            }
            seen.push(mark);
            Change::update("trail", id, &json!({ "seen": seen }))?.expecting(trail.version())
        }
    };
    Ok(Effects::new().change(change))
}

fn handlers(outside: &Arc<Outside>, attempts_max: u32) -> Handlers {
    let (at_trail, at_tick, at_bump, at_mark) =
        (outside.clone(), outside.clone(), outside.clone(), outside.clone());
    let retry = Retry { attempts_max, lease: Duration::from_millis(LEASE_MS), ..Retry::default() };
    Handlers::new()
        .event_with("trail", move |event, db| {
            let outside = at_trail.clone();
            async move {
                let mark = mark(&event);
                let is_poison = outside.poison.lock().unwrap().contains(&mark);
                assert!(!is_poison || outside.random.lock().unwrap().chance(1, 2), "a panic");
                if is_poison {
                    return Err(Failure::new("poison"));
                }
                outside.fails()?;
                follow(&db, &event.id, mark).await
            }
        })
        .event("tick", move |event| {
            at_tick.fails()?;
            let tick = json!({ "id": mark(event), "n": 1 });
            Ok(Effects::new().change(Change::create("tick", &tick)?))
        })
        .job("bump", move |job, db| {
            let outside = at_bump.clone();
            async move {
                outside.begin(&job);
                if let Err(failure) = outside.fails() {
                    outside.end(&job);
                    return Err(failure);
                }
                let json = job.get("payload").and_then(Value::as_s).expect("an event").to_owned();
                let event: serde_json::Value = serde_json::from_str(&json).expect("JSON");
                let version = event["new"]["version"].as_str().expect("a version").to_owned();
                let id = format!("of {}", event["id"].as_str().expect("an id"));
                follow(&db, &id, version).await
            }
        })
        .job("later", move |job, _| {
            let outside = at_mark.clone();
            async move {
                outside.begin(&job);
                let due = job.get("payload").and_then(Value::as_n).and_then(|due| due.to_i64());
                let now = i64::try_from(outside.clock.now().0).expect("a time");
                assert!(due.expect("when it is due") <= now, "it is too early");
                if let Err(failure) = outside.fails() {
                    outside.end(&job);
                    return Err(failure);
                }
                let tick = json!({ "id": job.id(), "n": 2 });
                Ok(Effects::new().change(Change::create("tick", &tick)?))
            }
        })
        .webhooks(outside.clone())
        .retry("trail", retry)
        .retry("tick", retry)
        .retry("bump", retry)
        .retry("later", retry)
        .retry("webhook", retry)
}

/// Random bytes that depend on a seed alone.
#[derive(Debug)]
struct Seeded(Mutex<Random>);

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        let mut random = self.0.lock().unwrap();
        bytes.fill_with(|| random.next_u64() as u8);
        Ok(())
    }
}

/// Prints the seed if a test fails.
struct PrintSeed(u64);

impl Drop for PrintSeed {
    #[expect(clippy::print_stderr, reason = "a failing test prints its seed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}", self.0);
        }
    }
}

/// A store that can be reopened, and all workers on it.
struct Sim {
    random: Random,
    clock: ManualClock,
    disk: Option<SimDisk>,
    store: Arc<dyn Store>,
    outside: Arc<Outside>,
    entropy: Arc<Seeded>,
    attempts_max: u32,
    /// Jobs that were scheduled for sure.
    scheduled: BTreeSet<String>,
    /// Jobs that were canceled for sure.
    canceled: BTreeSet<String>,
    /// Jobs whose cancellation a power failure has interrupted.
    unsure: BTreeSet<String>,
    number: u64,
}

/// Where data is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Memory,
    /// With power failures.
    Disk,
}

impl Sim {
    fn new(seed: u64, on: On, attempts_max: u32) -> Sim {
        let clock = ManualClock::new();
        let disk = (on == On::Disk).then(|| SimDisk::new(seed));
        let store: Arc<dyn Store> = match &disk {
            None => Arc::new(memory_store_at(&clock)),
            Some(disk) => Arc::new(engine_on(disk, &clock)),
        };
        Sim {
            random: Random::new(seed),
            outside: Outside::new(seed ^ 1, &clock),
            entropy: Arc::new(Seeded(Mutex::new(Random::new(seed ^ 2)))),
            clock,
            disk,
            store,
            attempts_max,
            scheduled: BTreeSet::new(),
            canceled: BTreeSet::new(),
            unsure: BTreeSet::new(),
            number: 0,
        }
    }

    async fn open(&self, store: Arc<dyn Store>) -> Result<Db, Error> {
        let (clock, entropy) = (Arc::new(self.clock.clone()), self.entropy.clone());
        Db::open_with(MODEL, store, Options { clock, entropy, ..Options::default() }).await
    }

    /// Interleaves three workers of two processes and a writer at random.
    fn play(&mut self, steps: u32) -> Result<(), Error> {
        let writer = block_on(self.open(self.store.clone()))?;
        let slow: Arc<dyn Store> = pausing(self.store.clone());
        let slow = interleave(self.open(slow), |_| {})?;
        let (first, second) = (self.handlers(), self.handlers());
        let of = |index: usize| if index == 2 { &second } else { &first };
        let mut works: Vec<Option<Working<'_>>> = vec![None, None, None];
        for _ in 0..steps {
            match self.random.below(20) {
                0 => self.clock.advance_ms(self.random.below(3_000)),
                1 if self.random.chance(1, 8) => self.clock.advance_ms(LEASE_MS),
                2 | 3 => self.write(&writer)?,
                4 => {
                    let dropped = self.random.index(works.len());
                    if self.random.chance(1, 8) {
                        works[dropped] = None;
                    }
                }
                _ => {
                    let index = self.random.index(works.len());
                    let work = works[index]
                        .get_or_insert_with(|| Box::pin(slow.work(of(index))) as Working<'_>);
                    if let Some(done) = go_on(work.as_mut()) {
                        works[index] = None;
                        assert!(done?.problems.is_empty());
                    }
                }
            }
        }
        Ok(())
    }

    fn handlers(&self) -> Handlers {
        handlers(&self.outside, self.attempts_max)
    }

    /// Writes an item, a thing or a job.
    fn write(&mut self, db: &Db) -> Result<(), Error> {
        self.number += 1;
        let (n, id) = (self.number, format!("i{}", self.random.below(4)));
        let kind = if self.random.chance(1, 2) { "item" } else { "thing" };
        let written = match self.random.below(6) {
            0 => block_on(db.delete(kind, &id)),
            1..=3 if kind == "thing" => {
                let blob = "b".repeat(blob_bytes(n));
                block_on(db.put(kind, &id, &json!({ "n": n, "blob": blob }))).map(drop)
            }
            1..=3 => block_on(db.put(kind, &id, &json!({ "n": n }))).map(drop),
            4 => {
                let due = self.clock.now().0 + self.random.below(200_000);
                let due = i64::try_from(due).expect("a time");
                let job = format!("j{n}");
                let scheduled = Job::new("later").id(&job).at_ms(due).payload(&due)?;
                let lane = self.random.below(4);
                let scheduled =
                    if lane < 2 { scheduled.lane(format!("{lane}")) } else { scheduled };
                block_on(db.schedule(scheduled))?;
                self.scheduled.insert(job);
                Ok(())
            }
            _ => {
                let jobs: Vec<&String> = self.scheduled.iter().collect();
                if jobs.is_empty() {
                    return Ok(());
                }
                let job = (*self.random.pick(&jobs)).clone();
                let is_known = self.unsure.insert(job.clone());
                let canceled = block_on(db.cancel(&job)).map(drop);
                if canceled.is_ok() {
                    self.canceled.insert(job.clone());
                }
                // A refusal is inconclusive if the job may have been canceled before.
                if canceled.is_ok() || (is_known && !matches!(canceled, Err(Error::Store(_)))) {
                    self.unsure.remove(&job);
                }
                canceled
            }
        };
        match written {
            Err(Error::NotFound { .. } | Error::JobState { .. } | Error::Contended) => Ok(()),
            written => written,
        }
    }

    /// Cuts the power at a random sync, and opens what has survived.
    fn play_with_crash(&mut self, steps: u32) {
        let disk = self.disk.clone().expect("there is a disk");
        disk.crash_at_sync(disk.sync_count() + 1 + self.random.below(60));
        let played = self.play(steps);
        assert!(played.is_ok() || disk.crashed(), "{played:?}");
        if !disk.crashed() {
            disk.crash_now();
        }
        let disk = disk.after_crash(self.random.next_u64());
        self.store = Arc::new(engine_on(&disk, &self.clock));
        self.disk = Some(disk);
        // All workers are gone, and their leases with them.
        self.outside.begun.lock().unwrap().clear();
    }

    /// Works until nothing is left to do, without failures.
    fn settle(&mut self) -> Db {
        *self.outside.failing.lock().unwrap() = 0;
        let db = block_on(self.open(self.store.clone())).expect("it opens");
        let handlers = self.handlers();
        for _ in 0..10_000 {
            let work = block_on(db.work(&handlers)).expect("it works");
            assert!(work.problems.is_empty());
            match work.next {
                Next::Now => {}
                Next::At(ms) => {
                    let ms = u64::try_from(ms).expect("a time");
                    let now = self.clock.now().0;
                    // At least a millisecond, so that time advances.
                    self.clock.advance_ms(ms.saturating_sub(now).max(1));
                }
                Next::Idle => return db,
            }
        }
        panic!("there is always more to do");
    }
}

type Working<'w> = Pin<Box<dyn Future<Output = Result<Work, Error>> + 'w>>;

/// All events in the feed.
fn history(db: &Db) -> Vec<Event> {
    let mut events = vec![];
    let mut position = Position::default();
    loop {
        let page = block_on(db.events(&position, 1_000)).expect("it is kept");
        events.extend(page.events);
        position = page.next;
        if !page.is_full {
            return events;
        }
    }
}

fn trail(db: &Db, id: &str) -> Vec<String> {
    let trail = block_on(db.get("trail", id)).expect("the store answers");
    let Some(Value::L(seen)) = trail.as_ref().and_then(|trail| trail.get("seen")) else {
        return vec![];
    };
    seen.iter().map(|mark| mark.as_s().expect("a text").to_owned()).collect()
}

/// The marks of the events of one entity.
fn marks(events: &[Event], entity: &str, id: &str, words: &[&str]) -> Vec<String> {
    let own = events.iter().filter(|event| event.entity == entity && event.id == id);
    let json = |event: &Event| -> serde_json::Value {
        serde_json::from_str(&event.to_json()).expect("JSON")
    };
    own.filter(|event| words.contains(&json(event)["change"].as_str().expect("a word")))
        .map(mark)
        .collect()
}

/// Asserts that every event has had its effect, once, in the order of its entity, and that every job
/// has run.
fn assert_worked(sim: &Sim, db: &Db) {
    let events = history(db);
    for number in 0..4 {
        let id = format!("i{number}");
        let expected = marks(&events, "item", &id, &["insert", "update", "delete"]);
        assert_eq!(trail(db, &id), expected, "of {id}");
        let expected = marks(&events, "thing", &id, &["update"]);
        assert_eq!(trail(db, &format!("of {id}")), expected, "jobs of {id}");
        for mark in marks(&events, "thing", &id, &["insert"]) {
            let tick = block_on(db.get("tick", &mark)).expect("the store answers");
            assert!(tick.is_some(), "{mark} was not handled");
        }
        assert_eq!(delivered(sim, &id), marks(&events, "thing", &id, &["delete"]), "posts of {id}");
    }
    for job in sim.scheduled.difference(&sim.unsure) {
        let has_run = block_on(db.get("tick", job)).expect("the store answers").is_some();
        assert_eq!(has_run, !sim.canceled.contains(job), "{job}");
    }
    let backlog = block_on(db.backlog()).expect("the store answers");
    assert_eq!((backlog.due, backlog.waiting, backlog.running, backlog.queued), (0, 0, 0, 0));
    assert!(backlog.consumers.iter().all(|lag| lag.events == 0 && !lag.is_lost));
    assert_clean(db);
}

/// What was posted of one thing, without repetitions.
fn delivered(sim: &Sim, id: &str) -> Vec<String> {
    let (mut keys, mut versions) = (BTreeSet::new(), vec![]);
    let (mut events, mut keys_of) = (BTreeMap::new(), BTreeMap::new());
    for (key, body) in sim.outside.delivered.lock().unwrap().iter() {
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        // Keys and events correspond one to one.
        assert_eq!(events.entry(key.clone()).or_insert_with(|| body.clone()), &body);
        assert_eq!(keys_of.entry(body["position"].to_string()).or_insert_with(|| key.clone()), key);
        let blob = body["old"]["blob"].as_str().map_or(0, str::len);
        assert_eq!(blob, blob_bytes(body["old"]["n"].as_u64().expect("a number")));
        if body["id"] == id && keys.insert(key.clone()) {
            versions.push(format!("-{}", body["old"]["version"].as_str().expect("a version")));
        }
    }
    versions
}

/// How large a thing is: some do not fit into a job, and the images of one update not into a row.
fn blob_bytes(n: u64) -> usize {
    match n % 64 {
        0 => 210 * 1024,
        16 | 32 | 48 => 40 * 1024,
        _ => 10,
    }
}

fn each_seed(count: u32, play: impl Fn(u64)) {
    let first: u64 = std::env::var("KEYLOOM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    for seed in first..first + u64::from(cases(count)) {
        let _print = PrintSeed(seed);
        play(seed);
    }
}

#[test]
fn several_workers_do_everything_once_and_in_order() {
    each_seed(60, |seed| {
        let mut sim = Sim::new(seed, On::Memory, 1_000);
        sim.play(1_500).expect("a store in memory never fails");
        let db = sim.settle();
        assert!(block_on(db.backlog()).unwrap().failed == 0);
        assert_worked(&sim, &db);
    });
}

#[test]
fn a_power_failure_at_any_sync_loses_no_event_and_no_job() {
    each_seed(40, |seed| {
        let mut sim = Sim::new(seed, On::Disk, 1_000);
        for _ in 0..5 {
            sim.play_with_crash(600);
        }
        let db = sim.settle();
        assert_worked(&sim, &db);
    });
}

#[test]
fn poison_events_block_nothing_and_can_be_replayed() {
    each_seed(40, |seed| {
        let mut sim = Sim::new(seed, On::Memory, 3);
        let db = sim.settle();
        for _ in 0..30 {
            sim.write(&db).expect("a store in memory never fails");
        }
        let db = sim.settle();
        // From here on, each fifth event cannot be handled.
        let items: Vec<String> = (0..4).map(|number| format!("i{number}")).collect();
        let mut poison = BTreeSet::new();
        for number in 0..30 {
            let id = sim.random.pick(&items).clone();
            let put = block_on(db.put("item", &id, &json!({ "n": 100_000 + number }))).unwrap();
            if sim.random.chance(1, 5) {
                poison.insert(put.version().to_owned());
            }
        }
        *sim.outside.poison.lock().unwrap() = poison.clone();
        let db = sim.settle();
        let events = history(&db);
        for id in &items {
            let mut expected = marks(&events, "item", id, &["insert", "update", "delete"]);
            expected.retain(|mark| !poison.contains(mark));
            assert_eq!(trail(&db, id), expected, "the others of {id} went on, in order");
        }
        let dead = block_on(db.list("job", "by_status").by("status", "failed").limit(100).read());
        let dead = dead.unwrap().items;
        assert_eq!(dead.len(), poison.len());
        sim.outside.poison.lock().unwrap().clear();
        for job in &dead {
            block_on(db.replay(job.id())).unwrap();
        }
        let db = sim.settle();
        for id in &items {
            let mut expected = marks(&events, "item", id, &["insert", "update", "delete"]);
            let mut found = trail(&db, id);
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "nothing of {id} is lost");
        }
        assert_eq!(block_on(db.backlog()).unwrap().failed, 0);
        assert_clean(&db);
    });
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let once = |seed| {
        let mut sim = Sim::new(seed, On::Memory, 1_000);
        sim.play(400).expect("a store in memory never fails");
        let db = sim.settle();
        history(&db).iter().map(Event::to_json).collect::<Vec<_>>()
    };
    assert_eq!(once(7), once(7));
    assert_ne!(once(7), once(8));
}
