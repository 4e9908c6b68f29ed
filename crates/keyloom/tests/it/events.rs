//! Events and their consumers, by example: what is an event, how effects are committed, and what
//! happens to events that fail.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use keyloom::events::{
    Deliver, Delivery, Effects, Event, Failure, FeedStart, Handlers, Next, Position, Retry,
    TriggeringChange,
};
use keyloom::{Change, Clock, Db, Error};
use keyloom_store::{
    Background, CopyProgress, Engine, Moment, Options as EngineOptions, Restore, Store,
};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::crash::{ROOMS, large_family};
use crate::rig::{assert_clean, each_store, memory_store_at, open, open_at, settle};

const NOTES: &str = r#"
[entity.note]
id = "given"
expires = "until"
fields.text = "text?"
fields.until = "time?"
fields.data = "bytes?"
fields.more = "any?"
[entity.copy]
id = "given"
fields.text = "text?"
[on.note]
insert = "copy"
update = "copy"
delete = "copy"
"#;

/// The events after a position, in short form.
fn summary(db: &Db, after: &Position) -> Vec<String> {
    let page = block_on(db.events(after, 10_000)).unwrap();
    let word = |event: &Event| {
        let change = match event.change {
            TriggeringChange::Insert => "+",
            TriggeringChange::Update => "~",
            TriggeringChange::Delete => "-",
        };
        assert_eq!(event.old.is_some(), change != "+");
        assert_eq!(event.new.is_some(), change != "-");
        format!("{change}{} {}", event.entity, event.id)
    };
    page.events.iter().map(word).collect()
}

fn note(db: &Db, id: &str, text: &str) {
    block_on(db.put("note", id, &json!({ "text": text }))).unwrap();
}

/// Copies notes.
fn copying(event: &Event) -> Result<Effects, Failure> {
    let Some(new) = &event.new else {
        return Ok(Effects::new().change(Change::delete("copy", &event.id)));
    };
    let text = new.get("text").and_then(|text| text.as_s()).unwrap_or("");
    Ok(Effects::new().change(Change::put("copy", &event.id, &json!({ "text": text }))?))
}

fn copies(db: &Db) -> Vec<String> {
    let ids = ["a", "b", "c", "d"];
    let copy = |id: &&str| block_on(db.get("copy", id)).unwrap();
    let text = |copy: keyloom::Record| {
        let text = copy.get("text").and_then(|text| text.as_s()).unwrap_or("").to_owned();
        format!("{}={text}", copy.id())
    };
    ids.iter().filter_map(copy).map(text).collect()
}

#[test]
fn only_a_change_of_an_entity_is_an_event() {
    each_store(|store| {
        let db = block_on(open(ROOMS, store));
        let start = block_on(db.newest_position()).unwrap();
        block_on(db.create("room", &json!({ "id": "hall", "name": "hall" }))).unwrap();
        block_on(db.create("box", &json!({ "id": "b", "room": "hall", "label": "l" }))).unwrap();
        block_on(db.update("box", "b", &json!({ "weight": 3 }))).unwrap();
        block_on(db.update("box", "b", &json!({ "weight": 3 }))).unwrap();
        block_on(db.create("key", &json!({ "id": "k", "opens": "b" }))).unwrap();
        // It is refused, after it has marked the entities.
        block_on(db.delete("room", "hall")).unwrap_err();
        block_on(db.delete("key", "k")).unwrap();
        block_on(db.delete("room", "hall")).unwrap();
        let mut events = summary(&db, &start);
        // The order within a transaction is undefined.
        events[5..].sort();
        let expected =
            ["+room hall", "+box b", "~box b", "+key k", "-key k", "-box b", "-room hall"];
        assert_eq!(events, expected);
    });
}

#[test]
fn a_large_deletion_is_one_event_for_each_entity_it_deletes() {
    let db = block_on(open(ROOMS, Arc::new(memory_store_at(&ManualClock::new()))));
    large_family(&db);
    let start = block_on(db.newest_position()).unwrap();
    block_on(db.delete("room", "hall")).unwrap();
    let mut events = summary(&db, &start);
    assert_eq!(events[0], "-room hall", "its own event comes first, those of its children later");
    events.sort();
    let is_twice = |pair: &[String]| pair[0] == pair[1] && pair[0].starts_with('-');
    assert!(!events.windows(2).any(is_twice), "{events:?}");
    events.dedup();
    let gone = |kind: &str| events.iter().filter(|event| event.starts_with(kind)).count();
    assert_eq!((gone("-room"), gone("-box"), gone("-thing")), (2, 9, 36));
    assert_eq!(gone("~note"), 5, "references are cleared");
    assert_eq!(events.len(), 2 + 9 + 36 + 5);
}

#[test]
fn expiry_is_a_deletion_and_an_event() {
    let clock = ManualClock::new();
    let db = block_on(open_at(NOTES, Arc::new(memory_store_at(&clock)), &clock));
    let handlers = Handlers::new().event("copy", copying);
    let soon = i64::try_from(clock.now().0).unwrap() + 1_000;
    block_on(db.create("note", &json!({ "id": "a", "text": "x", "until": soon }))).unwrap();
    settle(&db, &handlers, &clock);
    assert_eq!(copies(&db), ["a=x"]);
    let start = block_on(db.newest_position()).unwrap();
    clock.advance_ms(2_000);
    assert!(block_on(db.get("note", "a")).unwrap().is_none());
    assert_eq!(summary(&db, &start), [""; 0], "it is hidden, but not deleted");
    assert_eq!(block_on(db.expire(10)).unwrap(), 1);
    assert_eq!(summary(&db, &start), ["-note a"]);
    settle(&db, &handlers, &clock);
    assert_eq!(copies(&db), [""; 0]);
    // Reusing the id of an expired entity deletes that one first.
    let soon = i64::try_from(clock.now().0).unwrap() + 1_000;
    block_on(db.create("note", &json!({ "id": "a", "until": soon }))).unwrap();
    clock.advance_ms(2_000);
    let start = block_on(db.newest_position()).unwrap();
    note(&db, "a", "again");
    assert_eq!(summary(&db, &start), ["-note a", "+note a"]);
    settle(&db, &handlers, &clock);
    assert_eq!(copies(&db), ["a=again"]);
    assert_clean(&db);
}

#[test]
fn a_handler_sees_events_from_the_time_the_model_names_it() {
    each_store(|store| {
        let clock = ManualClock::new();
        let before = NOTES.replace("= \"copy\"", "= \"other\"");
        let db = block_on(open_at(&before, store.clone(), &clock));
        note(&db, "a", "before");
        drop(db);
        let db = block_on(open_at(NOTES, store, &clock));
        let handlers = Handlers::new().event("copy", copying);
        note(&db, "b", "one");
        note(&db, "c", "two");
        note(&db, "b", "three");
        settle(&db, &handlers, &clock);
        assert_eq!(copies(&db), ["b=three", "c=two"]);
        // Nothing is repeated, and workers are idle.
        let work = block_on(db.work(&handlers)).unwrap();
        assert_eq!((work.events, work.jobs, work.next), (0, 0, Next::Idle));
        block_on(db.delete("note", "b")).unwrap();
        settle(&db, &handlers, &clock);
        assert_eq!(copies(&db), ["c=two"]);
        assert_clean(&db);
    });
}

#[test]
fn a_missing_handler_is_an_error() {
    let db = block_on(open(NOTES, Arc::new(memory_store_at(&ManualClock::new()))));
    let error = block_on(db.work(&Handlers::new().event("cpoy", copying))).unwrap_err();
    let message = "The model calls `copy`, and no handler has this name: did you mean `cpoy`?";
    assert_eq!(error.to_string(), message);
    let hooked = NOTES.replace("insert = \"copy\"", "insert = { webhook = \"https://x.example\" }");
    let db = block_on(open(&hooked, Arc::new(memory_store_at(&ManualClock::new()))));
    let error = block_on(db.work(&Handlers::new().event("copy", copying))).unwrap_err();
    let message = "The model calls the webhook `https://x.example`, and nothing delivers it: \
                register a sender with `Handlers::webhooks`.";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_failed_event_is_retried_and_later_ones_of_its_entity_wait_for_it() {
    each_store(|store| {
        let clock = ManualClock::new();
        let db = block_on(open_at(NOTES, store, &clock));
        let failures = Arc::new(AtomicU32::new(3));
        let left = failures.clone();
        let handlers = Handlers::new().event("copy", move |event| {
            let is_bad = event.id == "a"
                && left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                    .is_ok();
            if is_bad { Err(Failure::new("not yet")) } else { copying(event) }
        });
        note(&db, "a", "one");
        note(&db, "b", "other");
        note(&db, "a", "two");
        let work = block_on(db.work(&handlers)).unwrap();
        assert_eq!((work.events, work.failures), (3, 1));
        assert_eq!(copies(&db), ["b=other"], "others go on");
        let backlog = block_on(db.backlog()).unwrap();
        assert_eq!((backlog.waiting, backlog.queued, backlog.failed), (1, 1, 0));
        let waiting = block_on(db.list("job", "by_status").by("status", "waiting").read()).unwrap();
        let job = &waiting.items[0];
        assert_eq!(job.get("error").and_then(|error| error.as_s()), Some("not yet"));
        assert_eq!(job.get("kind").and_then(|kind| kind.as_s()), Some("event:copy"));
        settle(&db, &handlers, &clock);
        assert_eq!(failures.load(Ordering::SeqCst), 0);
        assert_eq!(copies(&db), ["a=two", "b=other"]);
        assert_clean(&db);
    });
}

#[test]
fn a_dead_letter_unblocks_its_lane_and_can_be_replayed_or_deleted() {
    let clock = ManualClock::new();
    let db = block_on(open_at(NOTES, Arc::new(memory_store_at(&clock)), &clock));
    let is_fixed = Arc::new(AtomicU32::new(0));
    let fixed = is_fixed.clone();
    let handlers = Handlers::new()
        .event("copy", move |event| {
            let text = event.new.as_ref().and_then(|new| new.get("text")).and_then(|t| t.as_s());
            match text {
                Some("poison") if fixed.load(Ordering::SeqCst) == 0 => panic!("poison"),
                Some("final") => Err(Failure::fatal("never")),
                _ => copying(event),
            }
        })
        .retry("copy", Retry { attempts_max: 3, ..Retry::default() });
    note(&db, "a", "poison");
    note(&db, "a", "after");
    note(&db, "b", "final");
    note(&db, "b", "after");
    settle(&db, &handlers, &clock);
    assert_eq!(copies(&db), ["a=after", "b=after"]);
    let dead = block_on(db.list("job", "by_status").by("status", "failed").read()).unwrap().items;
    let errors: Vec<_> = dead.iter().map(|job| job.get("error").unwrap().as_s().unwrap()).collect();
    assert_eq!(errors, ["never", "The handler panicked."]);
    is_fixed.store(1, Ordering::SeqCst);
    block_on(db.replay(dead[1].id())).unwrap();
    block_on(db.delete("job", dead[0].id())).unwrap();
    settle(&db, &handlers, &clock);
    assert_eq!(copies(&db), ["a=poison", "b=after"], "it runs after those that have overtaken it");
    assert_eq!(block_on(db.backlog()).unwrap().failed, 0);
    assert_clean(&db);
}

#[test]
fn invalid_effects_are_a_failure_with_their_reason() {
    let clock = ManualClock::new();
    let db = block_on(open_at(NOTES, Arc::new(memory_store_at(&clock)), &clock));
    let handlers = Handlers::new()
        .event("copy", |event| {
            Ok(Effects::new().change(Change::create("copy", &json!({ "id": event.id, "x": 1 }))?))
        })
        .retry("copy", Retry { attempts_max: 2, ..Retry::default() });
    note(&db, "a", "x");
    note(&db, "b", "x");
    settle(&db, &handlers, &clock);
    let dead = block_on(db.list("job", "by_status").by("status", "failed").read()).unwrap().items;
    assert_eq!(dead.len(), 2);
    let error = dead[0].get("error").unwrap().as_s().unwrap();
    assert!(error.starts_with("Invalid `copy`:"), "{error}");
}

#[test]
fn an_event_of_any_size_survives_the_conversion_to_json() {
    let clock = ManualClock::new();
    let db = block_on(open_at(NOTES, Arc::new(memory_store_at(&clock)), &clock));
    let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
    let (noted, calls) = (seen.clone(), AtomicU32::new(0));
    let handlers = Handlers::new().event("copy", move |event| {
        noted.lock().unwrap().push(event.clone());
        match calls.fetch_add(1, Ordering::SeqCst) % 2 {
            0 => Err(Failure::new("the first time always")),
            _ => copying(event),
        }
    });
    let deep = (0..14).fold(json!(1.25), |inner, _| json!([inner, { "x": null }]));
    let document =
        json!({ "id": "a", "data": "AAEC", "more": deep, "until": 99_999_999_999_999_i64 });
    block_on(db.create("note", &document)).unwrap();
    settle(&db, &handlers, &clock);
    let text = "long ".repeat(56_000);
    block_on(db.update("note", "a", &json!({ "text": text }))).unwrap();
    settle(&db, &handlers, &clock);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[2], seen[3]);
}

#[test]
fn handlers_and_jobs_stay_within_their_tenant() {
    const MODEL: &str = r#"
[entity.task]
id = "given"
tenant = "team"
fields.team = "text"
fields.n = "int = 0"
[on.task]
insert = "bump"
"#;
    let clock = ManualClock::new();
    let db = block_on(open_at(MODEL, Arc::new(memory_store_at(&clock)), &clock));
    let handlers = Handlers::new()
        .event_with("bump", |event, db| async move {
            let id = event.id;
            assert!(db.get("task", &id).await?.is_some(), "it reads its own tenant's");
            let bump = keyloom::events::Job::new("bump").payload(&id)?;
            Ok(Effects::new().schedule(bump))
        })
        .job("bump", |job, _| async move {
            let id = job.get("payload").and_then(|id| id.as_s()).unwrap_or("").to_owned();
            Ok(Effects::new().change(Change::update("task", &id, &json!({ "n": 1 }))?))
        });
    for team in ["red", "blue"] {
        block_on(db.tenant(team).create("task", &json!({ "id": team }))).unwrap();
        block_on(db.tenant(team).create("task", &json!({ "id": "same" }))).unwrap();
    }
    settle(&db, &handlers, &clock);
    for team in ["red", "blue"] {
        for id in [team, "same"] {
            let task = block_on(db.tenant(team).get("task", id)).unwrap().unwrap();
            assert_eq!(task.get("n"), Some(&1.into()), "{team} {id}");
        }
        let start = Position::default();
        let own = summary(&db.tenant(team), &start);
        assert_eq!(own.len(), 4, "{own:?}");
    }
    assert_eq!(block_on(db.backlog()).unwrap().failed, 0);
}

#[derive(Debug, Default)]
struct Receiver {
    is_down: Mutex<bool>,
    came: Mutex<Vec<Delivery>>,
    tried: AtomicU32,
}

impl Deliver for Receiver {
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            self.tried.fetch_add(1, Ordering::SeqCst);
            if *self.is_down.lock().unwrap() {
                return Err(Failure::new("connection refused"));
            }
            self.came.lock().unwrap().push(delivery);
            Ok(())
        })
    }
}

#[test]
fn a_receiver_that_is_down_for_an_hour_gets_everything_in_order() {
    const MODEL: &str = r#"
[entity.note]
id = "given"
fields.text = "text?"
[on.note]
insert = { webhook = "https://example.com/notes" }
update = { webhook = "https://example.com/changed" }
"#;
    let clock = ManualClock::new();
    let db = block_on(open_at(MODEL, Arc::new(memory_store_at(&clock)), &clock));
    let receiver = Arc::new(Receiver::default());
    let handlers = Handlers::new().webhooks(receiver.clone());
    *receiver.is_down.lock().unwrap() = true;
    for text in ["one", "two", "three"] {
        note(&db, "a", text);
    }
    note(&db, "b", "other");
    let up = clock.now().0 + 3_600_000;
    while clock.now().0 < up {
        block_on(db.work(&handlers)).unwrap();
        clock.advance_ms(10_000);
    }
    let tried = receiver.tried.load(Ordering::SeqCst);
    assert!((20..60).contains(&tried), "{tried} attempts in an hour, for three lanes");
    *receiver.is_down.lock().unwrap() = false;
    settle(&db, &handlers, &clock);
    let came = receiver.came.lock().unwrap();
    let bodies: Vec<serde_json::Value> =
        came.iter().map(|d| serde_json::from_str(&d.body).unwrap()).collect();
    let of = |address: &str, id: &str| -> Vec<String> {
        let own = came.iter().zip(&bodies).filter(|(d, b)| d.address == address && b["id"] == id);
        own.map(|(_, body)| body["new"]["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("https://example.com/notes", "a"), ["one"]);
    assert_eq!(of("https://example.com/notes", "b"), ["other"]);
    assert_eq!(of("https://example.com/changed", "a"), ["two", "three"]);
    assert!(came.iter().any(|delivery| delivery.attempt > 5));
    assert_eq!(block_on(db.backlog()).unwrap().failed, 0);
}

#[test]
fn a_consumer_that_is_too_far_behind_reports_it_and_can_be_resumed() {
    let (disk, clock) = (SimDisk::new(0), ManualClock::new());
    let options = EngineOptions {
        background: Background::Manual,
        log_segment_bytes: 4 << 10,
        keep_log_secs: 60,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(disk),
        ..EngineOptions::default()
    };
    let engine = Arc::new(Engine::open(std::path::Path::new("/data"), options).unwrap());
    let store: Arc<dyn Store> = engine.clone();
    let db = block_on(open_at(NOTES, store, &clock));
    let handlers = Handlers::new().event("copy", copying);
    for number in 0..100 {
        note(&db, "a", &format!("{number} {}", "x".repeat(200)));
    }
    clock.advance_ms(120_000);
    note(&db, "b", "late");
    engine.checkpoint().unwrap();
    engine.settle().unwrap();
    let work = block_on(db.work(&handlers)).unwrap();
    let [Error::Behind { consumer, .. }] = &work.problems[..] else { panic!("{work:?}") };
    assert_eq!(consumer, "copy");
    let message = work.problems[0].to_string();
    assert!(
        message.starts_with(
            "The consumer `copy` is too far behind: it has not seen the changes between "
        ),
        "{message}"
    );
    assert!(block_on(db.backlog()).unwrap().consumers[0].is_lost);
    // Jobs and other consumers run nevertheless.
    block_on(db.resume("copy", FeedStart::Oldest)).unwrap();
    settle(&db, &handlers, &clock);
    assert!(copies(&db).contains(&"b=late".to_owned()));
    block_on(db.resume("cpoy", FeedStart::Now)).unwrap_err();
    block_on(db.resume("copy", FeedStart::Now)).unwrap();
    assert_eq!(block_on(db.work(&handlers)).unwrap().events, 0);
}

/// A consumer has lost the changes between its last event and the restore, so it must not continue
/// silently. However far the copy has advanced, an earlier position belongs to another store.
#[test]
fn consumers_of_a_restored_store_report_the_loss_and_can_be_resumed() {
    let (disk, clock) = (SimDisk::new(0), ManualClock::new());
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(disk),
        ..EngineOptions::default()
    };
    let open_engine = |path: &str| Arc::new(Engine::open(path, options.clone()).unwrap());
    let handlers = Handlers::new().event("copy", copying);
    let engine = open_engine("/data");
    let db = block_on(open_at(NOTES, engine.clone(), &clock));
    note(&db, "a", "seen");
    settle(&db, &handlers, &clock);
    note(&db, "a", "not seen");
    let on_progress = &mut |_: CopyProgress| ControlFlow::Continue(());
    engine.backup("/backup", on_progress).unwrap();
    let position = block_on(db.newest_position()).unwrap();
    let (backup, target) = ("/backup".into(), "/restored".into());
    let restore = Restore { backup, logs: vec![], to: Moment::Latest, target };
    Engine::restore(&restore, &options, on_progress).unwrap();

    for path in ["/restored", "/backup"] {
        let db = block_on(open_at(NOTES, open_engine(path), &clock));
        (0..50).for_each(|number| note(&db, "b", &format!("{number}")));
        let work = block_on(db.work(&handlers)).unwrap();
        assert!(matches!(&work.problems[..], [Error::Behind { .. }]), "{path}: {work:?}");
        assert_eq!(work.events, 0);
        assert!(block_on(db.backlog()).unwrap().consumers[0].is_lost, "{path}");
        block_on(db.events(&position, 10)).unwrap_err();
        block_on(db.resume("copy", FeedStart::Oldest)).unwrap();
        settle(&db, &handlers, &clock);
        assert_eq!(copies(&db), ["a=seen", "b=49"], "{path}");
        assert!(!block_on(db.backlog()).unwrap().consumers[0].is_lost, "{path}");
    }
    // The original store continues where it was.
    settle(&db, &handlers, &clock);
    assert_eq!(copies(&db), ["a=not seen"]);
}

#[test]
fn an_idle_consumer_keeps_up_with_the_log() {
    let (disk, clock) = (SimDisk::new(0), ManualClock::new());
    let options = EngineOptions {
        background: Background::Manual,
        log_segment_bytes: 4 << 10,
        keep_log_secs: 3_600,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(disk),
        ..EngineOptions::default()
    };
    let engine = Arc::new(Engine::open(std::path::Path::new("/data"), options).unwrap());
    let db = block_on(open_at(NOTES, engine.clone(), &clock));
    let handlers = Handlers::new().event("copy", copying);
    for number in 0..200 {
        let text = format!("{number} {}", "x".repeat(300));
        block_on(db.put("copy", "a", &json!({ "text": text }))).unwrap();
        clock.advance_ms(60_000);
        engine.checkpoint().unwrap();
        engine.settle().unwrap();
        let work = block_on(db.work(&handlers)).unwrap();
        assert!(work.problems.is_empty(), "after {number} minutes");
    }
}

#[test]
fn positions_convert_to_text_and_back_and_invalid_ones_are_refused() {
    let db = block_on(open(NOTES, Arc::new(memory_store_at(&ManualClock::new()))));
    note(&db, "a", "x");
    let position = block_on(db.newest_position()).unwrap();
    assert_eq!(position.to_string().parse::<Position>().unwrap(), position);
    for text in
        ["", "all", "all:x", "all:-1", "all:1,", "all:999999999999999999999999999999999999999999"]
    {
        let error = text.parse::<Position>().unwrap_err();
        assert!(error.to_string().contains("is not a position in the feed"), "{error}");
    }
}
