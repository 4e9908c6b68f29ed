//! Jobs, by example: when they run, which worker runs them, how often, and how to control them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom::events::{Effects, Failure, Handlers, Job, Next, Retry};
use keyloom::{Change, Clock, Db, Error, Record};
use keyloom_store::Store;
use keyloom_testkit::pausing::{go_on, interleave, pausing};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, each_store, engine_on, memory_store_at, open, open_at};

const MODEL: &str = r#"
jobs = true
[entity.mark]
id = "given"
fields.n = "int = 0"
"#;

fn status(db: &Db, job: &str) -> String {
    let job = block_on(db.get("job", job)).unwrap().expect("it exists");
    job.get("status").and_then(|status| status.as_s()).unwrap_or("").to_owned()
}

fn error_of(job: &Record) -> &str {
    job.get("error").and_then(|error| error.as_s()).unwrap_or("")
}

fn now(clock: &ManualClock) -> i64 {
    i64::try_from(clock.now().0).unwrap()
}

/// Creates a mark for each job that runs, and records their order.
fn marking(order: &Arc<Mutex<Vec<String>>>) -> Handlers {
    let order = order.clone();
    Handlers::new().job("mark", move |job, _| {
        let order = order.clone();
        async move {
            order.lock().unwrap().push(job.id().to_owned());
            let mark = Change::create("mark", &json!({ "id": job.id() }))?;
            Ok(Effects::new().change(mark).result("marked"))
        }
    })
}

fn memory(clock: &ManualClock) -> Db {
    block_on(open_at(MODEL, Arc::new(memory_store_at(clock)), clock))
}

#[test]
fn a_job_runs_when_it_is_due_and_not_before() {
    each_store(|store| {
        let clock = ManualClock::new();
        let db = block_on(open_at(MODEL, store, &clock));
        let order = Arc::default();
        let handlers = marking(&order);
        let week = Duration::from_secs(7 * 24 * 3600);
        block_on(db.schedule(Job::new("mark").id("week").after(week))).unwrap();
        block_on(db.schedule(Job::new("mark").id("now"))).unwrap();
        let work = block_on(db.work(&handlers)).unwrap();
        assert_eq!(work.jobs, 1);
        assert_eq!((status(&db, "now"), status(&db, "week")), ("done".into(), "waiting".into()));
        let work = block_on(db.work(&handlers)).unwrap();
        let due = now(&clock) + i64::try_from(week.as_millis()).unwrap();
        assert_eq!((work.jobs, work.next), (0, Next::At(due)));
        clock.advance_ms(u64::try_from(week.as_millis()).unwrap() - 1);
        assert_eq!(block_on(db.work(&handlers)).unwrap().jobs, 0);
        clock.advance_ms(1);
        assert_eq!(block_on(db.work(&handlers)).unwrap().jobs, 1);
        assert_eq!(*order.lock().unwrap(), ["now", "week"]);
        let job = block_on(db.get("job", "week")).unwrap().unwrap();
        assert_eq!(job.get("result"), Some(&"marked".into()));
        assert_eq!(job.get("attempts"), Some(&1.into()));
        // A completed job expires after a week; dead letters stay.
        clock.advance_ms(8 * 24 * 3_600_000);
        assert_eq!(block_on(db.expire(10)).unwrap(), 2);
        assert!(block_on(db.get("job", "week")).unwrap().is_none());
        assert_clean(&db);
    });
}

#[test]
fn a_job_can_be_canceled_and_rescheduled() {
    let clock = ManualClock::new();
    let db = memory(&clock);
    let order = Arc::default();
    let handlers = marking(&order);
    for id in ["a", "b", "c"] {
        let job = Job::new("mark").id(id).after(Duration::from_secs(10));
        block_on(db.schedule(job)).unwrap();
    }
    assert!(matches!(block_on(db.schedule(Job::new("mark").id("a"))), Err(Error::Exists { .. })));
    block_on(db.cancel("a")).unwrap();
    block_on(db.reschedule("b", now(&clock) + 20_000)).unwrap();
    clock.advance_ms(10_000);
    block_on(db.work(&handlers)).unwrap();
    clock.advance_ms(10_000);
    block_on(db.work(&handlers)).unwrap();
    assert_eq!(*order.lock().unwrap(), ["c", "b"]);
    let said = |result: Result<Record, Error>| result.unwrap_err().to_string();
    assert_eq!(
        said(block_on(db.cancel("a"))),
        "The job `a` cannot be canceled: its status is `canceled`."
    );
    assert_eq!(
        said(block_on(db.cancel("b"))),
        "The job `b` cannot be canceled: its status is `done`."
    );
    assert_eq!(
        said(block_on(db.reschedule("c", 0))),
        "The job `c` cannot be rescheduled: its status is `done`."
    );
    assert_eq!(
        said(block_on(db.replay("c"))),
        "The job `c` cannot be replayed: its status is `done`."
    );
    assert_eq!(said(block_on(db.cancel("x"))), "Not found: `job` with id `x`.");
    // A canceled job can be replayed.
    block_on(db.replay("a")).unwrap();
    block_on(db.work(&handlers)).unwrap();
    assert_eq!(status(&db, "a"), "done");
}

#[test]
fn a_model_without_jobs_refuses_them() {
    let store = Arc::new(memory_store_at(&ManualClock::new()));
    let db = block_on(open("[entity.mark]\nfields.n = \"int\"\n", store));
    let error = block_on(db.schedule(Job::new("mark"))).unwrap_err();
    assert!(matches!(error, Error::NoJobs), "{error}");
    let error = block_on(db.cancel("x")).unwrap_err();
    let said = "The model has no jobs: add `jobs = true` above its first table, or declare \
                handlers with `on`.";
    assert_eq!(error.to_string(), said);
}

#[test]
fn a_failed_job_is_retried_with_growing_delays_and_becomes_a_dead_letter() {
    let clock = ManualClock::new();
    let db = memory(&clock);
    let retry = Retry {
        attempts_max: 5,
        first: Duration::from_secs(1),
        longest: Duration::from_secs(5),
        ..Retry::default()
    };
    let handlers = Handlers::new()
        .job("bad", |job, _| async move {
            let attempts = job.get("attempts").map(ToString::to_string).unwrap_or_default();
            Err(Failure::new(format!("attempt {attempts}")))
        })
        .retry("bad", retry);
    block_on(db.schedule(Job::new("bad").id("a"))).unwrap();
    let mut waits = vec![];
    for _ in 0..4 {
        let work = block_on(db.work(&handlers)).unwrap();
        assert_eq!((work.jobs, work.failures, work.next), (1, 1, Next::Now));
        let work = block_on(db.work(&handlers)).unwrap();
        let Next::At(due) = work.next else { panic!("{work:?}") };
        waits.push(due - now(&clock));
        clock.advance_ms(u64::try_from(due - now(&clock)).unwrap());
    }
    for (wait, longest) in waits.iter().zip([1_000, 2_000, 4_000, 5_000]) {
        assert!((longest / 2..=longest).contains(wait), "{waits:?}");
    }
    assert_eq!(block_on(db.work(&handlers)).unwrap().jobs, 1);
    assert_eq!(block_on(db.work(&handlers)).unwrap().next, Next::Idle);
    let dead = block_on(db.list("job", "by_status").by("status", "failed").read()).unwrap().items;
    assert_eq!(dead.len(), 1);
    assert_eq!(error_of(&dead[0]), "attempt 5");
    clock.advance_ms(365 * 24 * 3_600_000);
    block_on(db.expire(10)).unwrap();
    assert_eq!(status(&db, "a"), "failed", "a dead letter does not expire");
    block_on(db.replay("a")).unwrap();
    assert_eq!(block_on(db.work(&handlers)).unwrap().failures, 1);
    assert_eq!(status(&db, "a"), "waiting", "with all of its attempts");
    block_on(db.cancel("a")).unwrap();
    block_on(db.delete("job", "a")).unwrap();
}

#[test]
fn a_job_without_a_handler_is_retried_until_there_is_one() {
    let clock = ManualClock::new();
    let db = memory(&clock);
    block_on(db.schedule(Job::new("mark").id("a"))).unwrap();
    block_on(db.work(&Handlers::new())).unwrap();
    let job = block_on(db.get("job", "a")).unwrap().unwrap();
    assert_eq!(error_of(&job), "No handler for jobs of the kind `mark`.");
    clock.advance_ms(2_000);
    block_on(db.work(&marking(&Arc::default()))).unwrap();
    assert_eq!(status(&db, "a"), "done");
}

#[test]
fn a_job_with_invalid_effects_is_retried() {
    let clock = ManualClock::new();
    let db = memory(&clock);
    block_on(db.create("mark", &json!({ "id": "a" }))).unwrap();
    block_on(db.schedule(Job::new("mark").id("a"))).unwrap();
    block_on(db.work(&marking(&Arc::default()))).unwrap();
    let job = block_on(db.get("job", "a")).unwrap().unwrap();
    let said = "A `mark` with id `a` already exists: choose another id.";
    assert_eq!((status(&db, "a").as_str(), error_of(&job)), ("waiting", said));
}

#[test]
fn a_job_that_exceeds_its_lease_is_taken_over_and_ends_once() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let quick = block_on(open_at(MODEL, store.clone(), &clock));
    let slow: Arc<dyn Store> = pausing(store);
    let slow = interleave(open_at(MODEL, slow, &clock), |_| {});
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    // Stops a worker after each of its calls, and starts another one a lease later.
    for pauses in 0..100 {
        let id = format!("j{pauses}");
        block_on(quick.schedule(Job::new("mark").id(&id))).unwrap();
        let (first, second) = (marking(&order), marking(&order));
        let mut work = Box::pin(slow.work(&first));
        let is_done = (0..=pauses).any(|_| go_on(work.as_mut()).is_some());
        clock.advance_ms(59_999);
        let taken = status(&quick, &id) == "running";
        let other = block_on(quick.work(&second)).unwrap();
        assert!(!taken || other.jobs == 0, "its lease has not ended");
        clock.advance_ms(1);
        block_on(quick.work(&second)).unwrap();
        assert_eq!(status(&quick, &id), "done");
        // The first one continues, too late.
        if !is_done {
            while go_on(work.as_mut()).is_none() {}
        }
        assert_eq!(status(&quick, &id), "done");
        assert!(block_on(quick.get("mark", &id)).unwrap().is_some());
        drop(work);
        if is_done {
            assert_clean(&quick);
            return;
        }
    }
    panic!("a worker has less than a hundred steps");
}

/// A job of a killed process once waited until its lease ended, which was too late for urgent
/// messages.
#[test]
fn a_job_of_a_killed_process_runs_at_once_in_the_next_one() {
    let clock = ManualClock::new();
    let hanging = || Handlers::new().job("mark", |_, _| std::future::pending());
    let mut disk = SimDisk::new(1);
    let schedule = {
        let db = block_on(open_at(MODEL, Arc::new(engine_on(&disk, &clock)), &clock));
        ["a", "b"].map(|id| block_on(db.schedule(Job::new("mark").id(id))).unwrap().id().to_owned())
    };
    assert_eq!(schedule, ["a", "b"]);
    // Twice, so that a job is released that was taken after an earlier release.
    for attempt in 1..=2 {
        let db = block_on(open_at(MODEL, Arc::new(engine_on(&disk, &clock)), &clock));
        let attempts = |id| block_on(db.get("job", id)).unwrap().unwrap().get("attempts").cloned();
        let handlers = hanging();
        let mut works = [Box::pin(db.work(&handlers)), Box::pin(db.work(&handlers))];
        // The engine has its own thread: poll until both hang in a job.
        while ["a", "b"].map(attempts) != [Some(attempt.into()), Some(attempt.into())] {
            assert!(works.iter_mut().all(|work| go_on(work.as_mut()).is_none()), "they hang");
        }
        // No worker of the same process takes them over before their lease ends.
        assert_eq!(block_on(db.work(&marking(&Arc::default()))).unwrap().jobs, 0);
        disk.crash_now();
        drop(works);
        drop(db);
        disk = disk.after_crash(0);
    }
    let db = block_on(open_at(MODEL, Arc::new(engine_on(&disk, &clock)), &clock));
    let order = Arc::default();
    while block_on(db.work(&marking(&order))).unwrap().next == Next::Now {}
    assert_eq!([status(&db, "a"), status(&db, "b")], ["done", "done"], "the clock stands still");
    assert_eq!(order.lock().unwrap().len(), 2);
    assert_clean(&db);
}

#[test]
fn a_job_that_never_ends_becomes_a_dead_letter() {
    let clock = ManualClock::new();
    let db = memory(&clock);
    let handlers = Handlers::new()
        .job("hang", |_, _| std::future::pending())
        .retry("hang", Retry { attempts_max: 3, ..Retry::default() });
    block_on(db.schedule(Job::new("hang").id("a"))).unwrap();
    for _ in 0..3 {
        let mut work = Box::pin(db.work(&handlers));
        assert!(go_on(work.as_mut()).is_none(), "it hangs");
        drop(work);
        clock.advance_ms(60_000);
    }
    block_on(db.work(&handlers)).unwrap();
    let job = block_on(db.get("job", "a")).unwrap().unwrap();
    let message = "The job was started 3 times, and each time its lease ended before it did.";
    assert_eq!((status(&db, "a").as_str(), error_of(&job)), ("failed", message));
}

#[test]
fn a_job_that_is_canceled_while_it_runs_has_no_effect() {
    let clock = ManualClock::new();
    let db = memory(&clock);
    let other = db.clone();
    let handlers = Handlers::new().job("mark", move |job, _| {
        let other = other.clone();
        async move {
            other.cancel(job.id()).await?;
            Ok(Effects::new().change(Change::create("mark", &json!({ "id": job.id() }))?))
        }
    });
    block_on(db.schedule(Job::new("mark").id("a"))).unwrap();
    block_on(db.work(&handlers)).unwrap();
    assert_eq!(status(&db, "a"), "canceled");
    assert!(block_on(db.get("mark", "a")).unwrap().is_none());
}

#[test]
fn jobs_of_one_lane_run_in_order_whatever_their_outcome() {
    let clock = ManualClock::new();
    let db = memory(&clock);
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    let calls = AtomicU32::new(0);
    let noted = order.clone();
    let handlers = Handlers::new().job("step", move |job, _| {
        noted.lock().unwrap().push(job.id().to_owned());
        let is_first = job.id() == "a" && calls.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            match job.id() {
                _ if is_first => Err(Failure::new("once")),
                "b" => Err(Failure::fatal("never")),
                _ => Ok(Effects::new()),
            }
        }
    });
    for id in ["a", "b", "c", "d", "e"] {
        block_on(db.schedule(Job::new("step").id(id).lane("one"))).unwrap();
    }
    block_on(db.schedule(Job::new("step").id("other"))).unwrap();
    block_on(db.cancel("c")).unwrap();
    let mut backlog = block_on(db.backlog()).unwrap();
    assert_eq!((backlog.due, backlog.queued), (2, 3));
    for _ in 0..20 {
        block_on(db.work(&handlers)).unwrap();
        clock.advance_ms(1_000);
    }
    let order = order.lock().unwrap();
    let lane: Vec<&str> = order.iter().map(String::as_str).filter(|id| *id != "other").collect();
    assert_eq!(lane, ["a", "a", "b", "d", "e"]);
    backlog = block_on(db.backlog()).unwrap();
    assert_eq!((backlog.due, backlog.queued, backlog.failed), (0, 0, 1));
    assert_clean(&db);
}

#[test]
fn a_lane_whose_head_was_deleted_continues_after_a_while() {
    let clock = ManualClock::new();
    let db = memory(&clock);
    let order = Arc::default();
    let handlers = marking(&order);
    for id in ["a", "b", "c"] {
        let job = Job::new("mark").id(id).lane("one").after(Duration::from_secs(5));
        block_on(db.schedule(job)).unwrap();
    }
    block_on(db.delete("job", "a")).unwrap();
    clock.advance_ms(60_000);
    block_on(db.work(&handlers)).unwrap();
    assert_eq!(status(&db, "b"), "queued");
    for _ in 0..10 {
        clock.advance_ms(120_000);
        block_on(db.work(&handlers)).unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["b", "c"]);
    assert_clean(&db);
}

#[test]
fn jobs_survive_a_power_failure() {
    let (disk, clock) = (SimDisk::new(0), ManualClock::new());
    let db = block_on(open_at(MODEL, Arc::new(engine_on(&disk, &clock)), &clock));
    block_on(db.schedule(Job::new("mark").id("a").after(Duration::from_secs(3_600)))).unwrap();
    disk.crash_now();
    drop(db);
    let disk = disk.after_crash(1);
    let db = block_on(open_at(MODEL, Arc::new(engine_on(&disk, &clock)), &clock));
    clock.advance_ms(3_600_000);
    block_on(db.work(&marking(&Arc::default()))).unwrap();
    assert_eq!(status(&db, "a"), "done");
}
