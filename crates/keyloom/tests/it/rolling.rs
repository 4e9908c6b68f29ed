//! A rolling deploy: processes with an old model beside one with a new model, on a shared store. The
//! old ones load the new model with their next write, and nothing that they wrote is missing from
//! what the new model declares.

use std::sync::Arc;

use keyloom::{Change, Db, Error, Options};
use keyloom_store::{Get, Put, Scan, Store, TableName};
use keyloom_testkit::ManualClock;
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_value::{Item, Value};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine, memory_store_at};

const OLD: &str = r#"
[entity.note]
id = "given"
fields.n = "int"
fields.name = "text"
list.by_name = { order = "name" }
"#;

const NEW: &str = r#"
[entity.note]
id = "given"
fields.n = "int"
fields.name = "text"
list.by_name = { order = "name" }
list.by_n = { order = "n" }
count.by_n = { by = "n" }
unique = ["name"]
"#;

/// A shared store, and processes that have it open.
struct Deploy {
    store: Arc<dyn Store>,
    clock: ManualClock,
}

impl Deploy {
    fn new() -> Deploy {
        let clock = ManualClock::new();
        Deploy { store: Arc::new(memory_store_at(&clock)), clock }
    }

    fn open(&self, model: &str) -> Db {
        self.try_open(model).expect("the database opens")
    }

    fn try_open(&self, model: &str) -> Result<Db, Error> {
        self.open_on(model, self.store.clone(), false)
    }

    fn open_on(
        &self,
        model: &str,
        store: Arc<dyn Store>,
        allow_older_model: bool,
    ) -> Result<Db, Error> {
        let clock = Arc::new(self.clock.clone());
        let options = Options { clock, allow_older_model, ..Options::default() };
        block_on(Db::open_with(model, store, options))
    }

    /// Opens the new model and completes its backfill.
    fn change_model(&self) -> Db {
        let db = self.open(NEW);
        block_on(db.backfill(|_| {})).unwrap();
        db
    }

    fn rows(&self) -> Vec<Item> {
        block_on(self.store.scan(Scan::new(&table()))).unwrap().items
    }
}

fn table() -> TableName {
    TableName::new("keyloom").unwrap()
}

fn note(db: &Db, id: &str, n: i64) {
    let note = json!({"id": id, "n": n, "name": format!("name of {id}")});
    block_on(db.create("note", &note)).unwrap();
}

fn ids_by_n(db: &Db) -> Vec<String> {
    let page = block_on(db.list("note", "by_n").limit(100).read()).unwrap();
    page.items.iter().map(|record| record.id().to_owned()).collect()
}

fn count_of(db: &Db, n: i64) -> i64 {
    let counted = block_on(db.count("note", "by_n").by("n", n).total()).unwrap();
    i64::try_from(counted).unwrap()
}

#[test]
fn creates_of_an_old_process_are_in_new_lists_and_counts() {
    let deploy = Deploy::new();
    let old = deploy.open(OLD);
    note(&old, "before", 1);
    let new = deploy.change_model();
    note(&old, "after", 2);
    assert_eq!(ids_by_n(&new), ["before", "after"]);
    assert_eq!((count_of(&new, 1), count_of(&new, 2)), (1, 1));
    assert_clean(&new);
    assert_eq!(ids_by_n(&old), ["before", "after"], "it has loaded the new model");
}

#[test]
fn an_old_process_updates_and_deletes_under_the_new_model() {
    let deploy = Deploy::new();
    let old = deploy.open(OLD);
    note(&old, "a", 1);
    note(&old, "b", 2);
    let stale = deploy.open(OLD);
    let new = deploy.change_model();
    block_on(old.update("note", "a", &json!({"n": 5}))).unwrap();
    block_on(stale.delete("note", "b")).unwrap();
    assert_eq!(ids_by_n(&new), ["a"]);
    assert_eq!((count_of(&new, 1), count_of(&new, 5), count_of(&new, 2)), (0, 1, 0));
    assert_clean(&new);
}

#[test]
fn an_old_process_cannot_be_restarted_by_accident() {
    let deploy = Deploy::new();
    note(&deploy.open(OLD), "a", 1);
    let new = deploy.change_model();
    let rows = deploy.rows();
    let error = deploy.try_open(OLD).unwrap_err();
    assert!(matches!(error, Error::OlderModel { .. }), "{error}");
    assert!(error.to_string().contains("--allow-older-model"), "{error}");
    assert_eq!(deploy.rows(), rows, "nothing is changed");
    assert_eq!((ids_by_n(&new).len(), count_of(&new, 1)), (1, 1));
    // The new model is not older, and can be opened as often as needed.
    assert_eq!(ids_by_n(&deploy.open(NEW)), ["a"]);
}

#[test]
fn an_older_model_that_is_asked_for_replaces_the_newer_one() {
    let deploy = Deploy::new();
    note(&deploy.open(OLD), "a", 1);
    let new = deploy.change_model();
    let back = deploy.open_on(OLD, deploy.store.clone(), true).unwrap();
    block_on(back.backfill(|_| {})).unwrap();
    note(&new, "b", 2);
    assert_clean(&back);
    assert!(new.model().entities().all(|(_, entity)| entity.lists.len() == 1));
    let error = deploy.try_open(NEW).unwrap_err();
    assert!(matches!(error, Error::OlderModel { .. }), "now this is the older one: {error}");
}

#[test]
fn a_model_of_before_can_be_opened_again_where_no_other_process_can() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(engine(&keyloom_testkit::SimDisk::new(0)));
    let deploy = Deploy { store, clock };
    note(&deploy.open(OLD), "a", 1);
    deploy.change_model();
    assert!(deploy.try_open(OLD).is_ok());
}

#[test]
fn a_new_unique_holds_against_an_old_process() {
    let deploy = Deploy::new();
    let old = deploy.open(OLD);
    note(&old, "a", 1);
    let new = deploy.change_model();
    let same = json!({"id": "b", "n": 1, "name": "name of a"});
    let error = block_on(old.create("note", &same)).unwrap_err();
    assert!(matches!(error, Error::UniqueViolation { .. }), "{error}");
    assert_clean(&new);
}

type Write = fn(Db) -> keyloom::Answer<'static, ()>;

const WRITES: [(&str, Write); 5] = [
    ("create", |db| {
        let note = json!({"id": "new", "n": 3, "name": "new"});
        Box::pin(async move { db.create("note", &note).await.map(drop) })
    }),
    ("update", |db| {
        Box::pin(async move { db.update("note", "a", &json!({"n": 4})).await.map(drop) })
    }),
    ("put", |db| {
        let note = json!({"n": 5, "name": "put"});
        Box::pin(async move { db.put("note", "b", &note).await.map(drop) })
    }),
    ("delete", |db| Box::pin(async move { db.delete("note", "a").await })),
    ("transact_idempotent", |db| {
        Box::pin(async move {
            let changes = vec![
                Change::create("note", &json!({"id": "once", "n": 6, "name": "once"}))?,
                Change::delete("note", "b"),
            ];
            db.transact_idempotent("key", changes).await.map(drop)
        })
    }),
];

/// Stops an old process between any two of its calls, changes the model and completes the backfill
/// meanwhile, and lets it continue. Without a fence, what it then writes is in no new list.
#[test]
fn a_process_paused_during_a_change_of_the_model_writes_by_the_new_one() {
    for (name, write) in WRITES {
        for pauses in 0.. {
            let deploy = Deploy::new();
            let first = deploy.open(OLD);
            note(&first, "a", 1);
            note(&first, "b", 2);
            let paused = deploy.open_on(OLD, pausing(deploy.store.clone()), false);
            let paused = paused.unwrap();
            let mut work = write(paused);
            let is_done = (0..pauses).any(|_| go_on(work.as_mut()).is_some());
            if is_done {
                assert!(pauses > 2, "{name} makes some calls");
                break;
            }
            let new = deploy.change_model();
            block_on(work).unwrap_or_else(|error| panic!("{name}, {pauses}: {error}"));
            assert_clean(&new);
            let all = block_on(new.list("note", "by_name").limit(100).read()).unwrap().items;
            assert_eq!(ids_by_n(&new).len(), all.len(), "{name}, {pauses}");
            let counted: i64 = (0..10).map(|n| count_of(&new, n)).sum();
            assert_eq!(usize::try_from(counted).unwrap(), all.len(), "{name}, {pauses}");
        }
    }
}

/// The process that changes the model dies between any two of its calls. Others complete the switch.
#[test]
fn a_change_of_the_model_that_stops_halfway_is_completed_by_others() {
    for pauses in 0.. {
        let deploy = Deploy::new();
        let old = deploy.open(OLD);
        note(&old, "a", 1);
        let clock = Arc::new(deploy.clock.clone());
        let options = Options { clock, ..Options::default() };
        let store = pausing(deploy.store.clone());
        let mut opening = Db::open_with(NEW, store, options);
        let is_done = (0..pauses).any(|_| go_on(opening.as_mut()).is_some());
        drop(opening);
        note(&old, "b", 2);
        let new = deploy.change_model();
        note(&old, "c", 3);
        assert_eq!(ids_by_n(&new), ["a", "b", "c"], "{pauses}");
        assert_clean(&new);
        if is_done {
            break;
        }
    }
}

/// Replaces the stored text of the model in force by one that this version cannot read.
fn write_unreadable_model(deploy: &Deploy) {
    deploy.change_model();
    let rows = deploy.rows();
    let is_new = |row: &&Item| row.get("text").and_then(Value::as_s) == Some(NEW);
    let mut row = rows.iter().find(is_new).expect("the text is stored").clone();
    row.insert("text", "from = \"the future\"");
    block_on(deploy.store.put(Put::new(&table(), row))).unwrap();
}

#[test]
fn a_process_that_cannot_read_the_new_model_stops_writing_and_continues_to_read() {
    let deploy = Deploy::new();
    let old = deploy.open(OLD);
    note(&old, "a", 1);
    note(&old, "b", 2);
    write_unreadable_model(&deploy);
    let rows = deploy.rows();
    for (name, write) in WRITES {
        let error = block_on(write(old.clone())).unwrap_err();
        assert!(matches!(error, Error::ModelChanged), "{name}: {error}");
    }
    assert_eq!(deploy.rows(), rows, "nothing is written");
    assert_eq!(block_on(old.get("note", "a")).unwrap().unwrap().id(), "a");
    let page = block_on(old.list("note", "by_name").read()).unwrap();
    assert_eq!(page.items.len(), 2);
}

#[test]
fn a_process_that_only_reads_notices_the_change_within_seconds() {
    let deploy = Deploy::new();
    let old = deploy.open(OLD);
    note(&old, "a", 1);
    block_on(old.resume_deletions()).unwrap();
    deploy.change_model();
    assert!(block_on(old.list("note", "by_n").read()).is_err());
    deploy.clock.advance_ms(30_000);
    block_on(old.resume_deletions()).unwrap();
    assert_eq!(ids_by_n(&old), ["a"]);
}

#[test]
fn a_permit_that_expires_is_replaced() {
    let deploy = Deploy::new();
    let db = deploy.open(OLD);
    note(&db, "a", 1);
    for row in deploy.rows().iter().filter(|row| row.contains("epoch") && !row.contains("secret")) {
        let key = ["PK", "SK"].map(|name| (name, row.get(name).unwrap().clone()));
        let key = Item::from(key);
        assert!(block_on(deploy.store.get(Get::new(&table(), key.clone()))).unwrap().is_some());
        block_on(deploy.store.delete(keyloom_store::Delete::new(&table(), key))).unwrap();
    }
    note(&db, "b", 2);
    assert_clean(&db);
}

/// An old process does not know the field that the entity has got since. Before, it refused the patch
/// as if the client had sent that field.
#[test]
fn an_old_process_patches_an_entity_with_a_new_field() {
    let deploy = Deploy::new();
    let old = deploy.open(OLD);
    note(&old, "a", 1);
    let more = OLD.replace("list.by_name", "fields.color = \"text = red\"\nlist.by_name");
    let new = deploy.open(&more);
    block_on(new.backfill(|_| {})).unwrap();
    let patched = block_on(old.update("note", "a", &json!({"n": 2}))).unwrap();
    assert_eq!(patched.get("color").and_then(Value::as_s), Some("red"));
    // And accepts what the new model has.
    let stale = deploy.open_on(OLD, deploy.store.clone(), false);
    assert!(matches!(stale, Err(Error::OlderModel { .. })));
    block_on(old.update("note", "a", &json!({"color": "blue"}))).unwrap();
    assert_clean(&new);
}
