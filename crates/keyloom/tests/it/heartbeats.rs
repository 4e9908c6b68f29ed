//! Jobs on a store that several processes share: leases end with the process that held them, a few
//! seconds after its last heartbeat, and not before. Each `Db` stands for a process.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use keyloom::events::{Effects, Handlers, Job, Next, Retry, Work};
use keyloom::{Change, Clock, Db, Error};
use keyloom_store::{Answer, Page, Put, Query, Scan, Store, TableName};
use keyloom_testkit::pausing::{go_on, interleave, pausing};
use keyloom_testkit::{Front, InFront, ManualClock, SimDisk};
use keyloom_value::{Item, KeyTest, Value};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine_on, memory_store_at, open_at};

const MODEL: &str = r#"
jobs = true
[entity.mark]
id = "given"
fields.n = "int = 0"
"#;

/// After how long a silent process counts as gone.
const SILENT_MS: u64 = 6_000;
/// How often the others look.
const LOOK_MS: u64 = 1_000;

type Working<'w> = Pin<Box<dyn Future<Output = Result<Work, Error>> + 'w>>;

/// Blocks the handlers of one process until it is opened; then they create a mark.
#[derive(Clone, Default)]
struct Gate {
    is_open: Arc<AtomicBool>,
    begun: Arc<Mutex<Vec<String>>>,
}

impl Gate {
    fn open() -> Gate {
        let gate = Gate::default();
        gate.is_open.store(true, Ordering::Relaxed);
        gate
    }

    fn begun(&self) -> usize {
        self.begun.lock().unwrap().len()
    }

    fn handlers(&self) -> Handlers {
        let gate = self.clone();
        Handlers::new().job("mark", move |job, _| {
            let gate = gate.clone();
            async move {
                gate.begun.lock().unwrap().push(job.id().to_owned());
                poll_fn(|_| match gate.is_open.load(Ordering::Relaxed) {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                })
                .await;
                Ok(Effects::new().change(Change::create("mark", &json!({ "id": job.id() }))?))
            }
        })
    }
}

/// A store that any number of processes share, each with its own clock.
fn shared(clock: &ManualClock) -> Arc<dyn Store> {
    let store = memory_store_at(clock);
    assert!(store.opening().is_none(), "it is shared");
    Arc::new(store)
}

fn process(store: &Arc<dyn Store>, clock: &ManualClock) -> Db {
    block_on(open_at(MODEL, store.clone(), clock))
}

fn status(db: &Db) -> String {
    let job = block_on(db.get("job", "a")).unwrap().expect("it exists");
    job.get("status").and_then(|status| status.as_s()).unwrap_or("").to_owned()
}

fn schedule(db: &Db) {
    block_on(db.schedule(Job::new("mark").id("a"))).unwrap();
}

/// Works until there is nothing to do at this moment.
fn work(db: &Db, handlers: &Handlers) {
    while block_on(db.work(handlers)).unwrap().next == Next::Now {}
}

/// Lets a process take the job and block in its handler.
fn begin<'w>(db: &'w Db, handlers: &'w Handlers) -> Working<'w> {
    block_on(db.heartbeat()).unwrap();
    let mut working: Working<'w> = Box::pin(db.work(handlers));
    assert!(go_on(working.as_mut()).is_none(), "it waits for its gate");
    assert_eq!(status(db), "running");
    working
}

/// The number of worker rows.
fn workers(store: &Arc<dyn Store>) -> usize {
    let scan = Scan::new(&TableName::new("keyloom").unwrap());
    let rows = block_on(store.scan(scan)).unwrap().items;
    rows.iter().filter(|row| row.contains("seen")).count()
}

#[test]
fn a_job_of_a_killed_process_runs_in_another_one_within_seconds() {
    let clock = ManualClock::new();
    let store = shared(&clock);
    let (killed, other) = (process(&store, &clock), process(&store, &clock));
    schedule(&killed);
    let (at_killed, at_other) = (Gate::default(), Gate::open());
    let (of_killed, of_other) = (at_killed.handlers(), at_other.handlers());
    let working = begin(&killed, &of_killed);
    work(&other, &of_other);
    drop(working);
    clock.advance_ms(SILENT_MS - 1);
    work(&other, &of_other);
    assert_eq!((status(&other).as_str(), at_other.begun()), ("running", 0), "it may be alive");
    clock.advance_ms(LOOK_MS);
    work(&other, &of_other);
    assert_eq!((status(&other).as_str(), at_other.begun()), ("done", 1));
    assert_eq!(workers(&store), 0, "the row of the process that is gone is removed");
    assert_clean(&other);
}

#[test]
fn after_a_crash_work_says_when_to_call_it_again() {
    let clock = ManualClock::new();
    let store = shared(&clock);
    let killed = process(&store, &clock);
    schedule(&killed);
    let of_killed = Gate::default().handlers();
    drop(begin(&killed, &of_killed));
    let next = process(&store, &clock);
    let of_next = Gate::open().handlers();
    let began = clock.now().0;
    let mut turns = 0;
    loop {
        match block_on(next.work(&of_next)).unwrap().next {
            Next::Now => {}
            Next::At(ms) => clock.advance_ms(u64::try_from(ms).unwrap() - clock.now().0),
            Next::Idle => break,
        }
        turns += 1;
        assert!(turns < 10, "it goes straight there");
    }
    assert_eq!(status(&next), "done");
    assert_eq!(clock.now().0 - began, SILENT_MS);
}

#[test]
fn a_slow_process_keeps_its_job_until_the_lease_ends() {
    let clock = ManualClock::new();
    let store = shared(&clock);
    let (slow, other) = (process(&store, &clock), process(&store, &clock));
    schedule(&slow);
    let (at_slow, at_other) = (Gate::default(), Gate::open());
    let lease = Retry { lease: Duration::from_secs(600), ..Retry::default() };
    let of_slow = at_slow.handlers().retry("mark", lease);
    let of_other = at_other.handlers().retry("mark", lease);
    let mut working = begin(&slow, &of_slow);
    for second in 1..600 {
        clock.advance_ms(1_000);
        if second % 2 == 0 {
            block_on(slow.heartbeat()).unwrap();
        }
        work(&other, &of_other);
        assert_eq!((status(&other).as_str(), at_other.begun()), ("running", 0), "{second}");
    }
    // A heartbeat does not extend a lease.
    clock.advance_ms(1_000);
    block_on(slow.heartbeat()).unwrap();
    work(&other, &of_other);
    assert_eq!((status(&other).as_str(), at_other.begun()), ("done", 1));
    at_slow.is_open.store(true, Ordering::Relaxed);
    assert!(go_on(working.as_mut()).is_some());
    assert_clean(&other);
}

#[test]
fn a_process_that_was_paused_cannot_end_what_was_taken_over() {
    let clock = ManualClock::new();
    let store = shared(&clock);
    let (paused, other) = (process(&store, &clock), process(&store, &clock));
    schedule(&paused);
    let (at_paused, at_other) = (Gate::default(), Gate::default());
    let (of_paused, of_other) = (at_paused.handlers(), at_other.handlers());
    let mut working = begin(&paused, &of_paused);
    work(&other, &of_other);
    clock.advance_ms(SILENT_MS);
    block_on(other.heartbeat()).unwrap();
    let mut taken: Working<'_> = Box::pin(other.work(&of_other));
    assert!(go_on(taken.as_mut()).is_none(), "it has taken the job over");
    assert_eq!((at_paused.begun(), at_other.begun()), (1, 1));
    // The first one continues and completes its handler, too late.
    block_on(paused.heartbeat()).unwrap();
    at_paused.is_open.store(true, Ordering::Relaxed);
    assert!(go_on(working.as_mut()).is_some_and(|done| done.is_ok()));
    assert_eq!(status(&other), "running");
    assert!(block_on(other.get("mark", "a")).unwrap().is_none());
    at_other.is_open.store(true, Ordering::Relaxed);
    assert!(go_on(taken.as_mut()).is_some());
    assert_eq!(status(&other), "done");
    assert!(block_on(other.get("mark", "a")).unwrap().is_some());
    assert_clean(&other);
}

#[test]
fn a_process_that_dies_at_any_call_leaves_its_job_to_another_one() {
    for calls in 0..100 {
        let clock = ManualClock::new();
        let store = shared(&clock);
        let dying = interleave(open_at(MODEL, pausing(store.clone()), &clock), |_| {});
        let other = process(&store, &clock);
        schedule(&other);
        let (at_dying, at_other) = (Gate::open(), Gate::open());
        let (of_dying, of_other) = (at_dying.handlers(), at_other.handlers());
        interleave(dying.heartbeat(), |_| {}).unwrap();
        let mut working: Working<'_> = Box::pin(dying.work(&of_dying));
        let is_done = (0..=calls).any(|_| go_on(working.as_mut()).is_some());
        drop(working);
        work(&other, &of_other);
        clock.advance_ms(SILENT_MS);
        work(&other, &of_other);
        assert_eq!(status(&other), "done", "after {calls} calls");
        assert_eq!(workers(&store), 0);
        assert_clean(&other);
        if is_done {
            assert_eq!(at_other.begun(), 0, "it was done in time");
            return;
        }
    }
    panic!("a worker has less than a hundred calls");
}

#[test]
fn clocks_of_processes_need_not_agree() {
    for (one_ms, other_ms) in [(0, 0), (0, 2_000), (2_000, 0), (0, 3_600_000), (3_600_000, 0)] {
        let (clock, one, two) = (ManualClock::new(), ManualClock::new(), ManualClock::new());
        one.advance_ms(one_ms);
        two.advance_ms(other_ms);
        let store = shared(&clock);
        let (first, second) = (process(&store, &one), process(&store, &two));
        schedule(if one_ms > other_ms { &second } else { &first });
        let (at_first, at_second) = (Gate::default(), Gate::open());
        // Leases compare clocks, so this one is longer than the clocks differ.
        let lease = Retry { lease: Duration::from_secs(7_200), ..Retry::default() };
        let of_first = at_first.handlers().retry("mark", lease);
        let of_second = at_second.handlers().retry("mark", lease);
        let working = begin(&first, &of_first);
        let pass = |ms| [&one, &two].map(|clock| clock.advance_ms(ms));
        for _ in 0..30 {
            pass(1_000);
            block_on(first.heartbeat()).unwrap();
            work(&second, &of_second);
            assert_eq!(at_second.begun(), 0, "the first one is alive: {one_ms}, {other_ms}");
        }
        drop(working);
        pass(SILENT_MS);
        work(&second, &of_second);
        assert_eq!(status(&second), "done", "the first one is gone: {one_ms}, {other_ms}");
    }
}

#[test]
fn without_heartbeat_a_job_waits_for_the_end_of_its_lease() {
    let clock = ManualClock::new();
    let store = shared(&clock);
    let (killed, other) = (process(&store, &clock), process(&store, &clock));
    let (at_killed, at_other) = (Gate::default(), Gate::open());
    let (of_killed, of_other) = (at_killed.handlers(), at_other.handlers());
    // A heartbeat that was never called, and one that was called too long ago.
    for is_called in [false, true] {
        if is_called {
            block_on(killed.heartbeat()).unwrap();
            clock.advance_ms(SILENT_MS);
            block_on(other.delete("job", "a")).unwrap();
            block_on(other.delete("mark", "a")).unwrap();
        }
        schedule(&killed);
        let mut working: Working<'_> = Box::pin(killed.work(&of_killed));
        assert!(go_on(working.as_mut()).is_none());
        drop(working);
        assert_eq!(workers(&store), 0);
        for _ in 0..59 {
            clock.advance_ms(1_000);
            work(&other, &of_other);
            assert_eq!(status(&other), "running");
        }
        clock.advance_ms(1_000);
        work(&other, &of_other);
        assert_eq!(status(&other), "done");
    }
}

#[test]
fn a_process_that_stops_releases_its_jobs_at_once() {
    let clock = ManualClock::new();
    let store = shared(&clock);
    let (stopping, other) = (process(&store, &clock), process(&store, &clock));
    schedule(&stopping);
    let (at_stopping, at_other) = (Gate::default(), Gate::open());
    let (of_stopping, of_other) = (at_stopping.handlers(), at_other.handlers());
    drop(begin(&stopping, &of_stopping));
    block_on(stopping.stop_heartbeat()).unwrap();
    assert_eq!(workers(&store), 0);
    work(&other, &of_other);
    assert_eq!((status(&other).as_str(), at_other.begun()), ("done", 1), "the clock stands still");
    block_on(stopping.stop_heartbeat()).unwrap();
}

/// Counts writes and reads of worker rows.
struct Counting {
    store: Arc<dyn Store>,
    puts: AtomicU32,
    queries: AtomicU32,
}

impl Front for Counting {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        self.puts.fetch_add(u32::from(put.item.contains("seen")), Ordering::Relaxed);
        self.store.put(put)
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        let is_of_workers = query.key.tests.iter().any(|(_, test)| {
            let KeyTest::Equal(Value::B(bytes)) = test else { return false };
            bytes.windows(6).any(|part| part == b"worker")
        });
        self.queries.fetch_add(u32::from(is_of_workers), Ordering::Relaxed);
        self.store.query(query)
    }
}

#[test]
fn a_heartbeat_writes_nothing_while_idle_and_one_row_however_many_jobs_run() {
    let clock = ManualClock::new();
    let (puts, queries) = (AtomicU32::new(0), AtomicU32::new(0));
    let counting = Arc::new(InFront(Counting { store: shared(&clock), puts, queries }));
    let store: Arc<dyn Store> = counting.clone();
    let db = process(&store, &clock);
    let gate = Gate::default();
    let handlers = gate.handlers();
    let minute = || {
        counting.0.puts.store(0, Ordering::Relaxed);
        counting.0.queries.store(0, Ordering::Relaxed);
        for _ in 0..240 {
            clock.advance_ms(250);
            if clock.now().0.is_multiple_of(2_000) {
                assert!(matches!(block_on(db.heartbeat()).unwrap(), Next::At(_)));
            }
            let mut working: Working<'_> = Box::pin(db.work(&handlers));
            while go_on(working.as_mut()).is_none() && gate.begun() == 0 {}
        }
        (counting.0.puts.load(Ordering::Relaxed), counting.0.queries.load(Ordering::Relaxed))
    };
    assert_eq!(minute(), (0, 60), "idle: one look at the others in a second");
    let ids: Vec<String> = (0..40).map(|number| format!("j{number}")).collect();
    for id in &ids {
        block_on(db.schedule(Job::new("mark").id(id))).unwrap();
    }
    block_on(db.heartbeat()).unwrap();
    let mut works: Vec<Working<'_>> =
        (0..40).map(|_| Box::pin(db.work(&handlers)) as Working<'_>).collect();
    assert!(works.iter_mut().all(|work| go_on(work.as_mut()).is_none()), "each is at a job");
    let (puts, _) = minute();
    assert_eq!(puts, 30, "40 jobs are running: one row every two seconds");
}

#[test]
fn the_embedded_engine_needs_no_heartbeat() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(engine_on(&SimDisk::new(0), &clock));
    let db = process(&store, &clock);
    schedule(&db);
    assert_eq!(block_on(db.heartbeat()).unwrap(), Next::Idle);
    work(&db, &Gate::open().handlers());
    assert_eq!(status(&db), "done");
    block_on(db.stop_heartbeat()).unwrap();
    assert_eq!(workers(&store), 0);
}
