//! Initial values and transitions of enums: every way to create and to change one, and concurrent changes.

use std::sync::{Arc, Barrier};

use keyloom::{Change, Db, Entry, Error, Existing, Item, Value};
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, each_store, engine_at, open, open_at};

const MODEL: &str = r#"
[entity.issue]
id = "given"
fields.status = "enum(open, doing, done, rejected) = open"
fields.note   = "text?"
transitions.status = { open = ["doing", "rejected"], doing = ["done", "open"], done = ["open"] }
list.by_status = { by = "status", order = "id" }
count.by_status = { split = ["status"] }
"#;

const STATUSES: [&str; 4] = ["open", "doing", "done", "rejected"];

/// The rule again, written down separately.
fn is_allowed(from: &str, to: &str) -> bool {
    from == to
        || matches!(
            (from, to),
            ("open", "doing" | "rejected") | ("doing", "done" | "open") | ("done", "open")
        )
}

fn status(db: &Db, id: &str) -> String {
    let issue = block_on(db.get("issue", id)).unwrap().unwrap();
    issue.get("status").unwrap().as_s().unwrap().to_owned()
}

#[test]
fn only_declared_transitions_happen() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        let mut number = 0;
        for from in STATUSES {
            for to in STATUSES {
                for way in 0..4 {
                    number += 1;
                    let id = number.to_string();
                    // A new entity can have any value.
                    block_on(db.create("issue", &json!({ "id": id, "status": from }))).unwrap();
                    let document = json!({ "status": to });
                    let update = || Change::update("issue", &id, &document).unwrap();
                    let put = || Change::put("issue", &id, &document).unwrap();
                    let done = match way {
                        0 => block_on(db.transact(vec![update()])).map(drop),
                        1 => block_on(db.transact(vec![put().from_client()])).map(drop),
                        2 => block_on(db.transact_idempotent(&id, vec![update()])).map(drop),
                        _ => block_on(db.rehearse(vec![put()])).map(drop),
                    };
                    assert_eq!(done.is_ok(), is_allowed(from, to), "{from} {to} {way}: {done:?}");
                    let is_applied = done.is_ok() && way < 3;
                    assert_eq!(status(&db, &id), if is_applied { to } else { from });
                }
            }
        }
        assert_clean(&db);
    });
}

#[test]
fn the_message_names_what_is_allowed() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        for (from, to, message) in [
            (
                "open",
                "done",
                "Invalid `issue`:\n- `status` cannot change from `open` to `done`; it can change to \
                 `doing`, `rejected`.",
            ),
            (
                "rejected",
                "open",
                "Invalid `issue`:\n- `status` cannot change from `rejected` to `open`; it is final.",
            ),
        ] {
            block_on(db.create("issue", &json!({ "id": from, "status": from }))).unwrap();
            let refused = block_on(db.update("issue", from, &json!({ "status": to })));
            assert_eq!(refused.unwrap_err().to_string(), message);
            // Everything else can change.
            block_on(db.update("issue", from, &json!({ "note": "x" }))).unwrap();
        }
    });
}

#[test]
fn an_import_is_not_restricted() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        block_on(db.create("issue", &json!({ "id": "a", "status": "rejected" }))).unwrap();
        let fields = Item::from([("status", Value::from("open"))]);
        let entry = Entry { entity: "issue".into(), tenant: None, id: "a".into(), fields };
        block_on(db.import(vec![entry], Existing::Replace)).unwrap();
        assert_eq!(status(&db, "a"), "open");
    });
}

#[test]
fn a_rule_that_is_added_holds_from_then_on() {
    let clock = ManualClock::new();
    let store: Arc<dyn keyloom::Store> = Arc::new(engine_at(&clock));
    let free: String = MODEL
        .lines()
        .filter(|line| !line.starts_with("transitions"))
        .map(|l| format!("{l}\n"))
        .collect();
    let db = block_on(open_at(&free, store.clone(), &clock));
    block_on(db.create("issue", &json!({ "id": "a", "status": "rejected" }))).unwrap();
    block_on(db.update("issue", "a", &json!({ "status": "done" }))).unwrap();
    let db = block_on(open_at(MODEL, store, &clock));
    let refused = block_on(db.update("issue", "a", &json!({ "status": "rejected" })));
    assert!(matches!(refused, Err(Error::Fields { .. })), "{refused:?}");
    block_on(db.update("issue", "a", &json!({ "status": "open" }))).unwrap();
    assert_clean(&db);
}

/// From `open`, one of many writers begins the work and one rejects it, or only one of the two.
#[test]
fn concurrent_changes_are_checked_one_after_the_other() {
    for round in 0..20 {
        let clock = ManualClock::new();
        let db = block_on(open_at(MODEL, Arc::new(engine_at(&clock)), &clock));
        block_on(db.create("issue", &json!({ "id": "a" }))).unwrap();
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (db, barrier) = (&db, &barrier);
                scope.spawn(move || {
                    let mut random = Random::new(round * 8 + thread);
                    barrier.wait();
                    for _ in 0..10 {
                        let to = *random.pick(&STATUSES);
                        // A refusal or a conflict; both change nothing.
                        let _ = block_on(db.update("issue", "a", &json!({ "status": to })));
                    }
                });
            }
        });
        assert_history(&db);
        assert_clean(&db);
    }
}

/// New ones begin in one of two states; `kind` has no default.
const INITIAL: &str = r#"
[entity.issue]
id = "given"
fields.status = "enum(open, doing, done, rejected) = open"
fields.kind   = "enum(bug, wish, task)"
initial.status = ["open", "rejected"]
initial.kind   = ["bug", "wish"]
list.by_status = { by = "status", order = "id" }
"#;

#[test]
fn new_entities_have_an_initial_value_however_they_are_created() {
    each_store(|store| {
        let db = block_on(open(INITIAL, store));
        let mut number = 0;
        for status in STATUSES {
            for kind in ["bug", "wish", "task"] {
                let is_allowed = matches!(status, "open" | "rejected") && kind != "task";
                for way in 0..4 {
                    number += 1;
                    let id = number.to_string();
                    let document = json!({ "id": id, "status": status, "kind": kind });
                    let create = || Change::create("issue", &document).unwrap();
                    let whole = json!({ "status": status, "kind": kind });
                    let put = || Change::put("issue", &id, &whole).unwrap();
                    let done = match way {
                        0 => block_on(db.transact(vec![create()])).map(drop),
                        1 => block_on(db.transact(vec![put().from_client()])).map(drop),
                        2 => block_on(db.transact_idempotent(&id, vec![create()])).map(drop),
                        _ => block_on(db.rehearse(vec![create()])).map(drop),
                    };
                    assert_eq!(done.is_ok(), is_allowed, "{status} {kind} {way}: {done:?}");
                    let found = block_on(db.get("issue", &id)).unwrap();
                    assert_eq!(found.is_some(), is_allowed && way < 3);
                }
            }
        }
        assert_clean(&db);
    });
}

#[test]
fn an_initial_value_binds_neither_changes_nor_imports() {
    each_store(|store| {
        let db = block_on(open(INITIAL, store));
        let refused = block_on(db.create("issue", &json!({ "id": "a", "kind": "task" })));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "Invalid `issue`:\n- `kind` cannot be `task` in a new entity; it can be `bug`, `wish`."
        );
        block_on(db.create("issue", &json!({ "id": "a", "kind": "wish" }))).unwrap();
        block_on(db.update("issue", "a", &json!({ "kind": "task", "status": "done" }))).unwrap();
        let whole = json!({ "kind": "task", "status": "doing" });
        block_on(db.transact(vec![Change::put("issue", "a", &whole).unwrap()])).unwrap();
        let fields = Item::from([("status", Value::from("done")), ("kind", Value::from("task"))]);
        let entry = Entry { entity: "issue".into(), tenant: None, id: "b".into(), fields };
        block_on(db.import(vec![entry], Existing::Keep)).unwrap();
        assert_eq!(status(&db, "b"), "done");
    });
}

/// Every change in the feed is allowed.
fn assert_history(db: &Db) {
    let events = block_on(db.events(&keyloom::events::Position::default(), 1_000)).unwrap();
    assert!(events.events.len() > 1, "somebody changed it");
    let mut last = "open".to_owned();
    for event in events.events.iter().filter(|event| event.id == "a") {
        let Some(after) = &event.new else { continue };
        let now = after.get("status").unwrap().as_s().unwrap().to_owned();
        assert!(is_allowed(&last, &now), "{last} became {now}");
        last = now;
    }
}
