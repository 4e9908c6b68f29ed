//! Webhooks, by example: events of any size, models that also name handlers and jobs, and unique
//! message ids.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use keyloom::events::{Deliver, Delivery, Effects, Failure, FeedStart, Handlers, Job, Next, Retry};
use keyloom::{Change, Db};
use keyloom_store::{
    Background, Engine, Moment, Options as EngineOptions, Restore, Scan, Store, TableName,
};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::rig::{assert_clean, engine_at, engine_on, memory_store_at, open_at, settle};

const MODEL: &str = r#"
[entity.page]
id = "given"
fields.text = "text?"
fields.more = "any?"
[on.page]
insert = { webhook = "https://example.com/pages" }
update = { webhook = "https://example.com/pages" }
delete = { webhook = "https://example.com/pages" }
"#;

/// The maximum size of the fields of an entity.
const FIELDS_BYTES_MAX: usize = 320 * 1024;

/// A receiver that refuses a given number of requests.
#[derive(Debug, Default)]
struct Receiver {
    refusals: Mutex<u32>,
    came: Mutex<Vec<(String, Json)>>,
}

impl Deliver for Receiver {
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let mut refusals = self.refusals.lock().unwrap();
            if *refusals > 0 {
                *refusals -= 1;
                return Err(Failure::new("not now"));
            }
            let body = serde_json::from_str(&delivery.body).expect("the body is JSON");
            self.came.lock().unwrap().push((delivery.key, body));
            Ok(())
        })
    }
}

impl Receiver {
    fn refuse(&self, times: u32) {
        *self.refusals.lock().unwrap() = times;
    }

    fn ids(&self) -> Vec<String> {
        self.came.lock().unwrap().iter().map(|(id, _)| id.clone()).collect()
    }

    fn bodies(&self) -> Vec<Json> {
        self.came.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }
}

fn posting(receiver: &Arc<Receiver>) -> Handlers {
    Handlers::new().webhooks(receiver.clone())
}

/// The number of rows in the table, and their size in bytes.
fn rows(store: &dyn Store) -> (usize, usize) {
    let mut scan = Scan::new(&TableName::new("keyloom").unwrap());
    let (mut count, mut bytes) = (0, 0);
    loop {
        let page = block_on(store.scan(scan.clone())).unwrap();
        count += page.items.len();
        bytes += page.items.iter().map(keyloom_value::Item::size).sum::<usize>();
        match page.last_key {
            None => return (count, bytes),
            start => scan.start = start,
        }
    }
}

fn stores(clock: &ManualClock) -> [Arc<dyn Store>; 2] {
    [Arc::new(memory_store_at(clock)), Arc::new(engine_at(clock))]
}

/// An update of an entity that takes up more than half of a row.
#[test]
fn an_update_of_a_large_entity_is_posted_with_both_images() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = block_on(open_at(MODEL, store.clone(), &clock));
        let receiver = Arc::new(Receiver::default());
        let handlers = posting(&receiver);
        let text = |sign: &str| sign.repeat(170 * 1024);
        block_on(db.create("page", &json!({ "id": "a", "text": text("a") }))).unwrap();
        receiver.refuse(3);
        settle(&db, &handlers, &clock);
        block_on(db.update("page", "a", &json!({ "text": text("b") }))).unwrap();
        receiver.refuse(3);
        settle(&db, &handlers, &clock);
        let came = receiver.bodies();
        assert_eq!(came.len(), 2);
        assert_eq!((&came[0]["old"], &came[0]["new"]["text"]), (&Json::Null, &json!(text("a"))));
        assert_eq!(came[1]["old"]["text"], json!(text("a")));
        assert_eq!(came[1]["new"]["text"], json!(text("b")));
        assert_clean(&db);
    }
}

/// The largest possible images, also if JSON escapes each byte as six: they are posted, and leave
/// nothing behind.
#[test]
fn the_largest_images_are_posted_and_leave_no_rows() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = block_on(open_at(MODEL, store.clone(), &clock));
        let receiver = Arc::new(Receiver::default());
        let handlers = posting(&receiver);
        let room = FIELDS_BYTES_MAX - 100;
        let contents = [
            json!({ "text": "\u{1}".repeat(room) }),
            json!({ "text": "\"".repeat(room) }),
            json!({ "more": vec![false; room / 2 - 100] }),
            json!({ "more": vec!["\u{2}"; room / 2 - 100] }),
            json!({ "text": "é".repeat(room / 2) }),
        ];
        let mut before = Json::Null;
        for content in &contents {
            block_on(db.put("page", "a", content)).unwrap();
            let (rows_before, _) = rows(&*store);
            receiver.refuse(2);
            settle(&db, &handlers, &clock);
            let (_, event) = receiver.came.lock().unwrap().pop().expect("it is posted");
            let field = content.as_object().unwrap().keys().next().unwrap();
            assert_eq!(event["new"][field], content[field]);
            assert_eq!(event["old"]["text"], before["text"]);
            assert_eq!(event["old"]["more"], before["more"]);
            before = event["new"].clone();
            // A job and a checkpoint are new.
            assert!(rows(&*store).0 <= rows_before + 2, "{:?}", rows(&*store));
        }
        assert_clean(&db);
    }
}

/// The receiver is down for many times as long as the log is kept, during a hundred updates of large
/// entities: each is posted, in the order of its entity.
#[test]
fn a_hundred_large_updates_outlive_the_log() {
    let clock = ManualClock::new();
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(SimDisk::new(0)),
        log_segment_bytes: 1 << 20,
        keep_log_secs: 60,
        ..EngineOptions::default()
    };
    let engine = Arc::new(Engine::open(Path::new("/data"), options).unwrap());
    let db = block_on(open_at(MODEL, engine.clone(), &clock));
    let receiver = Arc::new(Receiver::default());
    let handlers = posting(&receiver);
    for number in 0..10 {
        block_on(db.create("page", &json!({ "id": number.to_string() }))).unwrap();
    }
    settle(&db, &handlers, &clock);
    receiver.came.lock().unwrap().clear();
    let start = block_on(db.newest_position()).unwrap();
    receiver.refuse(50);
    for turn in 1..=10 {
        for number in 0..10 {
            let text = format!("{turn} {}", "x".repeat(170 * 1024));
            block_on(db.update("page", &number.to_string(), &json!({ "text": text }))).unwrap();
        }
        while block_on(db.work(&handlers)).unwrap().next == Next::Now {}
        clock.advance_ms(120_000);
        engine.checkpoint().unwrap();
        engine.settle().unwrap();
    }
    block_on(db.events(&start, 1)).expect_err("the log was trimmed meanwhile");
    settle(&db, &handlers, &clock);
    let came = receiver.bodies();
    assert_eq!(came.len(), 100);
    for number in 0..10 {
        let of = came.iter().filter(|event| event["id"] == json!(number.to_string()));
        let turns = of.map(|event| {
            let text = event["new"]["text"].as_str().unwrap();
            let (turn, rest) = text.split_once(' ').unwrap();
            assert_eq!(rest.len(), 170 * 1024);
            turn.to_owned()
        });
        let expected: Vec<String> = (1..=10).map(|turn: u32| turn.to_string()).collect();
        assert_eq!(turns.collect::<Vec<_>>(), expected);
    }
    assert_eq!(receiver.ids().iter().collect::<BTreeSet<_>>().len(), 100);
    assert_clean(&db);
}

/// Overflow rows live as long as their job: a dead letter can be replayed at any time, a canceled
/// job until it expires, and a deleted one leaves nothing behind.
#[test]
fn overflow_rows_live_as_long_as_their_job() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = block_on(open_at(MODEL, store.clone(), &clock));
        let receiver = Arc::new(Receiver::default());
        let retry = Retry { attempts_max: 1, ..Retry::default() };
        let handlers = posting(&receiver).retry("webhook", retry);
        let (empty, _) = rows(&*store);
        let text = "x".repeat(300 * 1024);
        let ids = ["replayed", "canceled", "deleted", "deleted once"];
        receiver.refuse(4);
        for id in ids {
            block_on(db.create("page", &json!({ "id": id, "text": text }))).unwrap();
        }
        settle(&db, &handlers, &clock);
        let failed =
            || block_on(db.list("job", "by_status").by("status", "failed").read()).unwrap();
        let jobs: Vec<String> = failed().items.iter().map(|job| job.id().to_owned()).collect();
        assert_eq!(jobs.len(), 4);
        assert_eq!(failed().items[0].get("overflow"), Some(&2.into()));
        clock.advance_ms(90 * 24 * 60 * 60 * 1000);
        block_on(db.replay(&jobs[0])).unwrap();
        block_on(db.replay(&jobs[1])).unwrap();
        block_on(db.cancel(&jobs[1])).unwrap();
        block_on(db.replay(&jobs[1])).unwrap();
        block_on(db.delete("job", &jobs[2])).unwrap();
        let delete = vec![Change::delete("job", &jobs[3])];
        block_on(db.transact_idempotent("key", delete)).unwrap();
        settle(&db, &handlers, &clock);
        let came: BTreeSet<String> =
            receiver.bodies().iter().map(|event| event["id"].as_str().unwrap().into()).collect();
        assert_eq!(came.len(), 2, "{came:?}");
        // Two jobs that are done, three checkpoints at most, an idempotency record, and the pages.
        assert!(rows(&*store).0 <= empty + 4 + 2 + 3 + 1, "{:?}", rows(&*store));
        assert_clean(&db);
    }
}

#[test]
fn overflow_rows_of_a_canceled_job_expire_after_it() {
    let clock = ManualClock::new();
    let engine = Arc::new(engine_at(&clock));
    let db = block_on(open_at(MODEL, engine.clone(), &clock));
    let job = Job::new("own").payload(&"x".repeat(900 * 1024)).unwrap();
    let job = block_on(db.schedule(job)).unwrap();
    let (_, bytes) = rows(&*engine);
    assert!(bytes > 900 * 1024);
    block_on(db.cancel(job.id())).unwrap();
    clock.advance_ms(9 * 24 * 60 * 60 * 1000);
    block_on(db.expire(10)).unwrap();
    engine.settle().unwrap();
    let (_, bytes) = rows(&*engine);
    assert!(bytes < 32 * 1024, "{bytes} bytes are left");
    assert_clean(&db);
}

/// A receiver that drops known ids must not drop a new event: not of another database, and not after
/// a restore to an earlier moment.
#[test]
fn message_ids_are_unique_across_databases_and_restores() {
    let (clock, disk) = (ManualClock::new(), SimDisk::new(0));
    let mut seen = BTreeSet::new();
    let mut is_new = |ids: Vec<String>, count: usize| {
        assert_eq!(ids.len(), count);
        for id in ids {
            assert!(id.starts_with("msg_") && id.len() == 30, "{id}");
            assert!(seen.insert(id.clone()), "{id} comes again");
        }
    };
    let write = |db: &Db| {
        for number in 0..100 {
            let id = number.to_string();
            block_on(db.put("page", &id, &json!({ "text": "a" }))).unwrap();
            block_on(db.put("page", &id, &json!({ "text": "b" }))).unwrap();
            block_on(db.delete("page", &id)).unwrap();
        }
    };
    // The same history in several databases, at the same time.
    for store in [stores(&clock), stores(&clock)].into_iter().flatten() {
        let db = block_on(open_at(MODEL, store, &clock));
        let receiver = Arc::new(Receiver::default());
        write(&db);
        settle(&db, &posting(&receiver), &clock);
        is_new(receiver.ids(), 300);
    }
    // The same positions and the same version of an entity, in two stores with a common past.
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(disk.clone()),
        ..EngineOptions::default()
    };
    let restore = Restore {
        backup: "/backup".into(),
        logs: vec![],
        to: Moment::Latest,
        target: "/restored".into(),
    };
    let engine = Arc::new(engine_on(&disk, &clock));
    let db = block_on(open_at(MODEL, engine.clone(), &clock));
    block_on(db.create("page", &json!({ "id": "old" }))).unwrap();
    settle(&db, &posting(&Arc::default()), &clock);
    engine.backup("/backup", &mut |_| ControlFlow::Continue(())).unwrap();
    Engine::restore(&restore, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    let restored = Arc::new(Engine::open(Path::new("/restored"), options).unwrap());
    for store in [engine as Arc<dyn Store>, restored] {
        clock.advance_ms(1);
        let db = block_on(open_at(MODEL, store, &clock));
        let receiver = Arc::new(Receiver::default());
        // The feed of a restored store begins at the restore, after all checkpoints.
        for change in ["insert", "update", "delete"] {
            block_on(db.resume(&format!("page.{change}"), FeedStart::Now)).unwrap();
        }
        block_on(db.delete("page", "old")).unwrap();
        write(&db);
        settle(&db, &posting(&receiver), &clock);
        is_new(receiver.ids(), 301);
    }
}

const MIXED: &str = r#"
[entity.page]
id = "given"
[entity.other]
id = "given"
[on.page]
insert = { webhook = "https://example.com/pages" }
update = "handled"
[on.other]
insert = { job = "work" }
delete = "handled"
"#;

/// What only another program can do waits for it, and blocks nothing else.
#[test]
fn webhooks_are_posted_whatever_else_the_model_names() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = block_on(open_at(MIXED, store, &clock));
        let receiver = Arc::new(Receiver::default());
        let refused = block_on(db.work(&posting(&receiver))).unwrap_err().to_string();
        assert_eq!(refused, "The model calls `handled`, and no handler has this name.");
        let error = block_on(db.work(&posting(&receiver).event("handled", |_| Ok(nothing()))));
        let message = "The model schedules jobs `work`, and nothing runs them.";
        assert_eq!(error.unwrap_err().to_string(), message);

        // More jobs that cannot run here than fit into one page.
        for number in 0..100 {
            let job = Job::new("work").id(format!("by hand {number}"));
            block_on(db.schedule(job)).unwrap();
        }
        let here = posting(&receiver).leave_others();
        for number in 0..100 {
            let id = number.to_string();
            block_on(db.create("page", &json!({ "id": id }))).unwrap();
            block_on(db.create("other", &json!({ "id": id }))).unwrap();
            block_on(db.delete("other", &id)).unwrap();
        }
        settle(&db, &here, &clock);
        assert_eq!(receiver.ids().len(), 100);
        let backlog = block_on(db.backlog()).unwrap();
        assert_eq!((backlog.due, backlog.running, backlog.failed), (100, 0, 0));

        let (handled, ran) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let (at_handled, at_ran) = (handled.clone(), ran.clone());
        let there = Handlers::new()
            .event("handled", move |_| {
                *at_handled.lock().unwrap() += 1;
                Ok(nothing())
            })
            .job("work", move |_, _| {
                *at_ran.lock().unwrap() += 1;
                async { Ok(nothing()) }
            })
            .leave_others();
        settle(&db, &there, &clock);
        assert_eq!((*handled.lock().unwrap(), *ran.lock().unwrap()), (100, 200));
        assert_eq!(receiver.ids().len(), 100);
        assert_clean(&db);
    }
}

fn nothing() -> Effects {
    Effects::new()
}
