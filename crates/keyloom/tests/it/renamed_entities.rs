//! Entities that get another name: everything that was under way goes on, and the earlier name is free.
//! Random histories with renamed entities are in `evolutions.rs`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use keyloom::copy::{StoreSource, StoreTarget};
use keyloom::events::{Effects, Event, Failure, Handlers};
use keyloom::{Db, Error, Options, Record};
use keyloom_store::Store;
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, memory_store_at, open_at, settle, shared_store};

const BEFORE: &str = r#"
on.task = { insert = "note", update = "note" }

[entity.task]
id = "given"
fields.name = "text 1..20"
fields.state = "enum(open, done) = open"
fields.tags = "tags?"
unique = ["name"]
list.all = { facets = ["state"] }
count.by_state = { split = "state" }

[entity.step]
id = "given"
parent = "task"
"#;

/// The model under which the task is a ticket, and tasks are something else.
fn after() -> String {
    let renamed = BEFORE.replace("entity.task", "entity.ticket").replace("on.task", "on.ticket");
    let renamed = renamed.replace("parent = \"task\"", "parent = \"ticket\"");
    format!("renamed.ticket = \"task\"\n{renamed}")
}

/// The next one, which no longer says what a ticket was.
fn reused() -> String {
    let other = "[entity.task]\nid = \"given\"\nfields.name = \"text 1..20\"\nunique = [\"name\"]\n\
                 list.every = {}\n";
    format!("{}{other}", after().replace("renamed.ticket = \"task\"\n", ""))
}

fn stores(test: impl Fn(Arc<dyn Store>, &ManualClock)) {
    let clock = ManualClock::new();
    test(Arc::new(memory_store_at(&clock)), &clock);
    let clock = ManualClock::new();
    test(shared_store(&clock), &clock);
}

fn ids(records: Vec<Record>) -> Vec<String> {
    records.into_iter().map(|record| record.id().to_owned()).collect()
}

fn listed(db: &Db, entity: &str, list: &str) -> Vec<String> {
    let mut ids = ids(block_on(db.list(entity, list).read()).expect("it is read").items);
    ids.sort();
    ids
}

#[test]
fn everything_is_found_under_the_new_name_and_the_earlier_one_is_free() {
    stores(|store, clock| {
        let db = block_on(open_at(BEFORE, store.clone(), clock));
        for id in ["a", "b"] {
            let task = json!({ "id": id, "name": id, "tags": { "area": "x" } });
            block_on(db.create("task", &task)).unwrap();
        }
        block_on(db.create("step", &json!({ "id": "s", "task": "a" }))).unwrap();
        drop(db);

        let db = block_on(open_at(&after(), store.clone(), clock));
        assert!(!db.is_backfill_pending(), "nothing is rewritten");
        assert_eq!(listed(&db, "ticket", "all"), ["a", "b"]);
        let found = block_on(db.find("ticket", &[("name", "b".into())])).unwrap();
        assert_eq!(ids(found.into_iter().collect()), ["b"]);
        let step = block_on(db.get("step", "s")).unwrap().expect("it is there");
        assert_eq!(step.get("ticket"), Some(&"a".into()));
        let in_use = block_on(db.delete("ticket", "a")).unwrap_err();
        assert!(matches!(in_use, Error::InUse { .. }), "{in_use}");
        let unknown = block_on(db.get("task", "a")).unwrap_err();
        assert!(matches!(unknown, Error::Unknown { .. }), "{unknown}");
        assert_clean(&db);
        drop(db);

        let db = block_on(open_at(&reused(), store, clock));
        assert_eq!(listed(&db, "task", "every"), [""; 0]);
        block_on(db.create("task", &json!({ "id": "a", "name": "b" }))).unwrap();
        assert_eq!(listed(&db, "task", "every"), ["a"]);
        assert_eq!(listed(&db, "ticket", "all"), ["a", "b"]);
        let ticket = block_on(db.get("ticket", "a")).unwrap().expect("it is there");
        assert_eq!(ticket.get("name"), Some(&"a".into()));
        assert_clean(&db);
    });
}

/// An event that was put aside, one that was not handled yet, and one from after the change.
#[test]
fn events_are_handled_once_and_in_order() {
    stores(|store, clock| {
        let seen = Arc::new(Mutex::new(vec![]));
        let failures = Arc::new(AtomicU32::new(1));
        let (noted, left) = (seen.clone(), failures.clone());
        let handlers = Handlers::new().event("note", move |event: &Event| {
            let fails = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            if fails.is_ok() {
                return Err(Failure::new("not now"));
            }
            let name = event.new.as_ref().and_then(|new| new.get("name").cloned());
            noted.lock().unwrap().push((event.entity.clone(), event.id.clone(), name));
            Ok(Effects::new())
        });
        let db = block_on(open_at(BEFORE, store.clone(), clock));
        block_on(db.create("task", &json!({ "id": "a", "name": "first" }))).unwrap();
        // It fails, and waits for its next attempt.
        block_on(db.work(&handlers)).unwrap();
        assert_eq!(failures.load(Ordering::SeqCst), 0);
        block_on(db.update("task", "a", &json!({ "name": "second" }))).unwrap();
        drop(db);

        let db = block_on(open_at(&after(), store, clock));
        block_on(db.update("ticket", "a", &json!({ "name": "third" }))).unwrap();
        settle(&db, &handlers, clock);
        let names = ["first", "second", "third"].map(|name| Some(name.into()));
        let expected = names.map(|name| ("ticket".to_owned(), "a".to_owned(), name));
        assert_eq!(*seen.lock().unwrap(), expected);
        assert_clean(&db);
    });
}

#[test]
fn bulk_operations_go_on_under_the_new_name() {
    stores(|store, clock| {
        let db = block_on(open_at(BEFORE, store.clone(), clock));
        for number in 0..30 {
            let task = json!({ "id": format!("t{number}"), "name": format!("n{number}") });
            block_on(db.create("task", &task)).unwrap();
        }
        let all = db.list("task", "all").update_all(&json!({ "state": "done" })).unwrap();
        let id = block_on(all.start()).unwrap().operation.id;
        drop(db);

        let db = block_on(open_at(&after(), store, clock));
        let handlers = Handlers::new().event("note", |_| Ok(Effects::new()));
        settle(&db, &handlers, clock);
        let operation = block_on(db.bulk_operation(&id)).unwrap().expect("it is known");
        assert_eq!((operation.entity.as_str(), operation.changed), ("ticket", 30));
        assert_clean(&db);
    });
}

/// Keys are copied as they are, so a copy knows which name is in them.
#[test]
fn copies_have_everything_under_the_new_name() {
    stores(|from, clock| {
        let db = block_on(open_at(BEFORE, from.clone(), clock));
        block_on(db.create("task", &json!({ "id": "a", "name": "x" }))).unwrap();
        block_on(db.create("step", &json!({ "id": "s", "task": "a" }))).unwrap();
        drop(block_on(open_at(&after(), from.clone(), clock)));

        stores(|to, _| {
            let options = || Options { clock: Arc::new(clock.clone()), ..Options::default() };
            block_on(async {
                let source = StoreSource::open(from.clone(), options(), None).await?;
                let target = StoreTarget::begin(&source, to.clone(), options(), 1).await?;
                target.fill(&source, &|_| {}).await?;
                target.check(&source, &|_| {}).await?;
                target.finish().await
            })
            .expect("it is copied");
            let db = block_on(open_at(&reused(), to, clock));
            assert_eq!(listed(&db, "ticket", "all"), ["a"]);
            assert_eq!(listed(&db, "task", "every"), [""; 0]);
            let in_use = block_on(db.delete("ticket", "a")).unwrap_err();
            assert!(matches!(in_use, Error::InUse { .. }), "{in_use}");
            block_on(db.delete("step", "s")).unwrap();
            block_on(db.delete("ticket", "a")).unwrap();
            assert_clean(&db);
        });
    });
}
