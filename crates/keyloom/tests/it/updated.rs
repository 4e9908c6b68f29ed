//! The time of the last change: set by every write that changes an entity, and by no other.

use std::sync::Arc;

use keyloom::events::{Effects, Handlers};
use keyloom::{Change, Db, Entry, Existing, Imported, Item, Options, Record, Value};
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::rig::{assert_clean, engine_at, memory_store_at, open_at, plain_store, settle};

const MODEL: &str = r#"
[entity.person]
id = "given"

[entity.task]
id = "given"
updated = "changed"
fields.name    = "text = 'new'"
fields.points  = "int = 0"
fields.owner   = "ref person clear?"
fields.created = "time = now"
fields.changed = "time = now"
list.recent = { order = "-changed" }

[on.task]
insert = "greet"
"#;

const START_MS: i64 = 1_700_000_000_000;

/// A database on each kind of store, and its clock.
fn databases() -> [(Db, ManualClock); 3] {
    let clocks = [ManualClock::new(), ManualClock::new(), ManualClock::new()];
    let [one, two, three] = &clocks;
    let stores: [Arc<dyn keyloom::Store>; 3] =
        [Arc::new(memory_store_at(one)), Arc::new(engine_at(two)), plain_store(three)];
    let mut opened = stores
        .into_iter()
        .zip(&clocks)
        .map(|(store, clock)| (block_on(open_at(MODEL, store, clock)), clock.clone()));
    std::array::from_fn(|_| opened.next().expect("there are three"))
}

fn ms(record: &Record, field: &str) -> Option<i64> {
    record.get(field)?.as_n()?.to_i64().map(|ms| ms - START_MS)
}

fn changed(db: &Db, id: &str) -> Option<i64> {
    ms(&block_on(db.get("task", id)).unwrap()?, "changed")
}

fn create(db: &Db, id: &str) -> Record {
    block_on(db.create("task", &json!({ "id": id }))).unwrap()
}

fn update(db: &Db, id: &str, patch: &Json) -> Record {
    block_on(db.update("task", id, patch)).unwrap()
}

#[test]
fn every_change_sets_it_and_nothing_else_does() {
    for (db, clock) in databases() {
        let made = create(&db, "a");
        assert_eq!((ms(&made, "created"), ms(&made, "changed")), (Some(0), Some(0)));
        clock.advance_ms(10);
        let patched = update(&db, "a", &json!({ "name": "x" }));
        assert_eq!((ms(&patched, "created"), ms(&patched, "changed")), (Some(0), Some(10)));
        clock.advance_ms(10);
        // Nothing changes, so nothing is written.
        for same in [json!({}), json!({ "name": "x" }), json!({ "points": { "$add": 0 } })] {
            assert_eq!(update(&db, "a", &same), patched, "{same}");
        }
        let whole = json!({ "name": "x", "created": START_MS });
        assert_eq!(block_on(db.put("task", "a", &whole)).unwrap(), patched);
        let put = block_on(db.put("task", "a", &json!({ "created": START_MS }))).unwrap();
        assert_eq!(ms(&put, "changed"), Some(20));
        clock.advance_ms(10);
        assert_eq!(ms(&update(&db, "a", &json!({ "points": { "$add": 1 } })), "changed"), Some(30));
        clock.advance_ms(10);
        create(&db, "b");
        let page = block_on(db.list("task", "recent").read()).unwrap();
        let ids: Vec<&str> = page.items.iter().map(Record::id).collect();
        assert_eq!(ids, ["b", "a"]);
        clock.advance_ms(10);
        update(&db, "a", &json!({ "name": "y" }));
        let page = block_on(db.list("task", "recent").read()).unwrap();
        assert_eq!(page.items[0].id(), "a");
        assert_clean(&db);
    }
}

#[test]
fn values_of_the_program_are_ignored_and_those_of_clients_refused() {
    for (db, clock) in databases() {
        let dated = json!({ "id": "a", "changed": 5 });
        assert_eq!(ms(&block_on(db.create("task", &dated)).unwrap(), "changed"), Some(0));
        clock.advance_ms(10);
        let alone = update(&db, "a", &json!({ "changed": 5 }));
        assert_eq!(ms(&alone, "changed"), Some(0));
        let both = update(&db, "a", &json!({ "name": "x", "changed": 5 }));
        assert_eq!(ms(&both, "changed"), Some(10));
        let new = json!({ "name": "z", "changed": 5 });
        assert_eq!(ms(&block_on(db.put("task", "b", &new)).unwrap(), "changed"), Some(10));
        let client = |change: Change| block_on(db.transact(vec![change.from_client()]));
        let patch = json!({ "name": "y", "changed": 5 });
        client(Change::update("task", "a", &patch).unwrap()).unwrap_err();
        client(Change::create("task", &json!({ "id": "c", "changed": 5 })).unwrap()).unwrap_err();
        client(Change::put("task", "a", &patch).unwrap()).unwrap_err();
        assert_eq!((changed(&db, "a"), changed(&db, "c")), (Some(10), None));
        // The current value can be sent back.
        let same = json!({ "name": "y", "changed": START_MS + 10 });
        clock.advance_ms(10);
        client(Change::update("task", "a", &same).unwrap()).unwrap();
        assert_eq!(changed(&db, "a"), Some(20));
        client(Change::put("task", "a", &json!({ "created": START_MS })).unwrap()).unwrap();
        client(Change::create("task", &json!({ "id": "c" })).unwrap()).unwrap();
        assert_eq!((changed(&db, "a"), changed(&db, "c")), (Some(20), Some(20)));
        assert_clean(&db);
    }
}

fn entry(fields: &[(&str, Value)]) -> Entry {
    let fields: Item = fields.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    Entry { entity: "task".to_owned(), tenant: None, id: "a".to_owned(), fields }
}

#[test]
fn an_import_keeps_the_times_of_its_entries() {
    for (db, clock) in databases() {
        let import = |fields: &[(&str, Value)]| {
            block_on(db.import(vec![entry(fields)], Existing::Replace)).unwrap()
        };
        let name = |name: &str| ("name", Value::from(name));
        let dated = ("changed", Value::from(START_MS - 500));
        assert_eq!(import(&[name("x"), dated.clone()]), [Imported::Created]);
        assert_eq!(changed(&db, "a"), Some(-500));
        clock.advance_ms(10);
        // The same entry again, with and without its time.
        assert_eq!(import(&[name("x"), dated.clone()]), [Imported::Unchanged]);
        assert_eq!(import(&[name("x")]), [Imported::Unchanged]);
        assert_eq!(changed(&db, "a"), Some(-500));
        assert_eq!(import(&[name("y")]), [Imported::Replaced]);
        assert_eq!(changed(&db, "a"), Some(10));
        assert_eq!(import(&[name("y"), dated]), [Imported::Replaced]);
        assert_eq!(changed(&db, "a"), Some(-500));
        assert_clean(&db);
    }
}

#[test]
fn handlers_set_it_and_cleared_references_and_replays_do_not() {
    for (db, clock) in databases() {
        let handlers = Handlers::new().event_with("greet", |event, _| async move {
            Ok(Effects::new().change(Change::update("task", &event.id, &json!({ "name": "hi" }))?))
        });
        block_on(db.create("person", &json!({ "id": "ann" }))).unwrap();
        block_on(db.create("task", &json!({ "id": "a", "owner": "ann" }))).unwrap();
        clock.advance_ms(10);
        settle(&db, &handlers, &clock);
        let greeted = changed(&db, "a");
        assert!(greeted >= Some(10), "{greeted:?}");
        clock.advance_ms(10);
        block_on(db.delete("person", "ann")).unwrap();
        let task = block_on(db.get("task", "a")).unwrap().unwrap();
        assert_eq!((task.get("owner"), changed(&db, "a")), (None, greeted));
        let change =
            || vec![Change::update("task", "a", &json!({ "points": { "$add": 1 } })).unwrap()];
        let first = block_on(db.transact_idempotent("k", change())).unwrap().records();
        let set = changed(&db, "a");
        assert!(set > greeted);
        clock.advance_ms(10);
        assert_eq!(block_on(db.transact_idempotent("k", change())).unwrap().records(), first);
        assert_eq!(changed(&db, "a"), set);
        assert_clean(&db);
    }
}

const OLD: &str = "[entity.task]\nid = \"given\"\nfields.name = \"text\"\n";
const NEW: &str = "[entity.task]\nid = \"given\"\nfields.name = \"text\"\nupdated = \"changed\"\n\
                   fields.changed = \"time = now\"\n";

#[test]
fn processes_with_the_old_model_set_it_once_the_new_one_is_in_force() {
    let clock = ManualClock::new();
    let store: Arc<dyn keyloom::Store> = Arc::new(memory_store_at(&clock));
    let open = |model: &str| {
        let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
        block_on(Db::open_with(model, store.clone(), options)).expect("it opens")
    };
    let old = open(OLD);
    for id in ["a", "b"] {
        block_on(old.create("task", &json!({ "id": id, "name": "x" }))).unwrap();
    }
    clock.advance_ms(10);
    let new = open(NEW);
    clock.advance_ms(10);
    // Existing entities have the time of the change of the model.
    assert_eq!(changed(&new, "a"), Some(10));
    update(&old, "a", &json!({ "name": "y" }));
    assert_eq!((changed(&new, "a"), changed(&new, "b")), (Some(20), Some(10)));
    clock.advance_ms(10);
    block_on(new.backfill(|_| {})).unwrap();
    assert_eq!((changed(&new, "a"), changed(&new, "b")), (Some(20), Some(10)));
    update(&old, "b", &json!({ "name": "x" }));
    assert_eq!(changed(&new, "b"), Some(10));
    assert_clean(&new);
}
