//! Sequences: entities are numbered in the order of their creation, without gaps, whoever else creates
//! some, and whatever fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};

use keyloom::{Change, Db, Entry, Error, Existing, Imported, Item, Options, Record, Repair, Value};
use keyloom_store::{Get, Put, Store, SystemClock, TableName};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::rig::{
    assert_clean, engine_at, engine_on, findings, memory_store_at, open, open_at, plain_store,
};

const MODEL: &str = r#"
[entity.project]
id = "given"

[entity.issue]
fields.project = "ref project cascade"
fields.title   = "text"
fields.number  = "int"
sequence.number = ["project"]
unique = [["project", "number"], "title"]
list.of = { by = "project", order = "-number" }
"#;

fn stores() -> [Arc<dyn Store>; 3] {
    let clock = ManualClock::new();
    [Arc::new(memory_store_at(&clock)), Arc::new(engine_at(&clock)), plain_store(&clock)]
}

/// A database with two projects on each kind of store.
fn databases() -> impl Iterator<Item = Db> {
    stores().into_iter().map(|store| {
        let db = block_on(open(MODEL, store));
        for id in ["p", "q"] {
            block_on(db.create("project", &json!({ "id": id }))).expect("it is created");
        }
        db
    })
}

fn issue(project: &str, title: &str) -> Json {
    json!({ "project": project, "title": title })
}

fn create(db: &Db, project: &str, title: &str) -> Record {
    block_on(db.create("issue", &issue(project, title))).expect("it is created")
}

fn number(record: &Record) -> Option<i64> {
    record.get("number")?.as_n()?.to_i64()
}

fn update(db: &Db, record: &Record, patch: &Json) -> Option<i64> {
    number(&block_on(db.update("issue", record.id(), patch)).expect("it is updated"))
}

#[test]
fn entities_are_numbered_in_order_in_each_sequence() {
    for db in databases() {
        let numbers = ["p", "p", "q", "p", "q"].iter().zip(["a", "b", "c", "d", "e"]);
        let numbers = numbers.map(|(project, title)| number(&create(&db, project, title)));
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 1, 3, 2].map(Some));
        // By its number, and in the order of numbers.
        let page = block_on(db.list("issue", "of").by("project", "p").read()).unwrap();
        assert_eq!(page.items.iter().filter_map(number).collect::<Vec<_>>(), [3, 2, 1]);
        assert_clean(&db);
    }
}

#[test]
fn what_fails_takes_no_number_and_a_transaction_takes_several() {
    for db in databases() {
        create(&db, "p", "a");
        block_on(db.create("issue", &issue("p", "a"))).expect_err("the title is taken");
        block_on(db.create("issue", &issue("nowhere", "b"))).expect_err("there is no such project");
        let change = |title| Change::create("issue", &issue("p", title)).unwrap();
        block_on(db.transact(vec![change("c"), change("a")])).expect_err("the title is taken");
        let records = block_on(db.transact(vec![change("c"), change("d")])).unwrap();
        let numbers: Vec<_> = records.iter().flatten().map(number).collect();
        assert_eq!(numbers, [Some(2), Some(3)]);
        // A deleted one is not assigned again.
        block_on(db.delete("issue", records[1].as_ref().unwrap().id())).unwrap();
        assert_eq!(number(&create(&db, "p", "e")), Some(4));
        assert_clean(&db);
    }
}

#[test]
fn an_entity_keeps_its_number_until_it_moves_to_another_sequence() {
    for db in databases() {
        let (first, _) = (create(&db, "p", "a"), create(&db, "q", "b"));
        assert_eq!(update(&db, &first, &json!({ "title": "c" })), Some(1));
        let put = block_on(db.put("issue", first.id(), &issue("p", "d"))).unwrap();
        assert_eq!(number(&put), Some(1));
        assert_eq!(update(&db, &first, &json!({ "project": "q" })), Some(2));
        assert_eq!(update(&db, &first, &json!({ "project": "p" })), Some(2));
        assert_eq!(number(&create(&db, "q", "e")), Some(3));
        assert_clean(&db);
    }
}

#[test]
fn a_program_can_set_a_number_and_clients_cannot() {
    for db in databases() {
        let given = json!({ "project": "p", "title": "a", "number": 40 });
        let record = block_on(db.create("issue", &given)).unwrap();
        assert_eq!(number(&record), Some(40));
        assert_eq!(number(&create(&db, "p", "b")), Some(41));
        assert_eq!(update(&db, &record, &json!({ "number": 7 })), Some(7));
        assert_eq!(number(&create(&db, "p", "c")), Some(42));
        let client = |change: Change| block_on(db.transact(vec![change.from_client()]));
        client(
            Change::create("issue", &json!({ "project": "p", "title": "x", "number": 43 }))
                .unwrap(),
        )
        .expect_err("clients cannot set it");
        client(Change::update("issue", record.id(), &json!({ "number": 8 })).unwrap())
            .expect_err("clients cannot change it");
        let same = json!({ "project": "q", "title": "a", "number": 7 });
        let moved = client(Change::put("issue", record.id(), &same).unwrap()).unwrap();
        assert_eq!(number(moved[0].as_ref().unwrap()), Some(1));
        assert_clean(&db);
    }
}

fn entry(id: &str, fields: &Json) -> Entry {
    let field = |(name, value): (&String, &Json)| {
        let value = match value {
            Json::Number(number) => Value::from(number.as_i64().unwrap()),
            text => Value::from(text.as_str().unwrap()),
        };
        (name.as_str().into(), value)
    };
    let fields: Item = fields.as_object().unwrap().iter().map(field).collect();
    Entry { entity: "issue".to_owned(), tenant: None, id: id.to_owned(), fields }
}

#[test]
fn an_import_keeps_numbers_and_the_sequence_goes_on_after_them() {
    for db in databases() {
        let import = |id: &str, fields: &Json| {
            block_on(db.import(vec![entry(id, fields)], Existing::Replace)).unwrap()
        };
        let first = json!({ "project": "p", "title": "a", "number": 9 });
        assert_eq!(import("a", &first), [Imported::Created]);
        assert_eq!(import("a", &first), [Imported::Unchanged]);
        assert_eq!(import("a", &issue("p", "a")), [Imported::Unchanged]);
        assert_eq!(import("b", &issue("p", "b")), [Imported::Created]);
        // An entry says where it is and which number it has there.
        assert_eq!(
            import("a", &json!({ "project": "q", "title": "a", "number": 9 })),
            [Imported::Replaced]
        );
        let get = |id: &str| block_on(db.get("issue", id)).unwrap().as_ref().and_then(number);
        assert_eq!((get("a"), get("b")), (Some(9), Some(10)));
        assert_eq!(number(&create(&db, "q", "c")), Some(10));
        assert_clean(&db);
    }
}

/// 400 writers at once, through two databases if the store can be shared.
#[test]
fn a_crowd_of_writers_leaves_no_gap() {
    let clock = ManualClock::new();
    let stores: [(Arc<dyn Store>, usize); 2] =
        [(Arc::new(engine_at(&clock)), 1), (plain_store(&clock), 2)];
    for (store, processes) in stores {
        let open = || {
            let options = Options { clock: Arc::new(SystemClock), ..Options::default() };
            block_on(Db::open_with(MODEL, store.clone(), options)).expect("it opens")
        };
        let databases: Vec<Db> = (0..processes).map(|_| open()).collect();
        block_on(databases[0].create("project", &json!({ "id": "p" }))).unwrap();
        let barrier = Barrier::new(400);
        let numbers = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..400)
                .map(|writer| {
                    let (db, barrier) = (&databases[writer % processes], &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        loop {
                            let document = issue("p", &format!("t{writer}"));
                            match block_on(db.create("issue", &document)) {
                                Ok(record) => return number(&record),
                                // On a busy machine, the last ones wait for longer than a call does.
                                Err(error) => {
                                    assert!(matches!(error, Error::Contended), "{error}");
                                }
                            }
                        }
                    })
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        let mut numbers: Vec<i64> = numbers.into_iter().flatten().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=400).collect::<Vec<i64>>());
        assert_clean(&databases[0]);
    }
}

#[test]
fn each_tenant_has_its_own_sequence() {
    let model = "[entity.ticket]\ntenant = \"shop\"\nfields.shop = \"text\"\nfields.no = \"int\"\n\
                 sequence.no = []\n";
    for store in stores() {
        let db = block_on(open(model, store));
        let mut last: BTreeMap<&str, i64> = BTreeMap::new();
        for shop in ["a", "b", "a", "a", "b"] {
            let tenant = db.tenant(shop);
            let ticket = block_on(tenant.create("ticket", &json!({}))).unwrap();
            let next = last.entry(shop).or_default();
            *next += 1;
            assert_eq!(ticket.get("no"), Some(&Value::from(*next)));
        }
        assert_clean(&db);
    }
}

const OLD: &str = "[entity.task]\nid = \"given\"\nfields.name = \"text\"\n";

fn with(lines: &str) -> String {
    format!("{OLD}{lines}")
}

fn open_model(store: &Arc<dyn Store>, model: &str) -> Result<Db, Error> {
    let clock = Arc::new(ManualClock::new());
    block_on(Db::open_with(model, store.clone(), Options { clock, ..Options::default() }))
}

#[test]
fn a_sequence_can_be_added_with_a_new_field_and_be_removed() {
    for store in stores() {
        let db = open_model(&store, OLD).unwrap();
        block_on(db.create("task", &json!({ "id": "a", "name": "x" }))).unwrap();
        let numbered = with("fields.no = \"int?\"\nsequence.no = []\n");
        drop(db);
        let db = open_model(&store, &numbered).unwrap();
        let no = |record: Record| record.get("no").cloned();
        let new = block_on(db.create("task", &json!({ "id": "b", "name": "x" }))).unwrap();
        assert_eq!(no(new), Some(Value::from(1)));
        // One from before gets a number when it changes.
        let get = |id: &str| block_on(db.get("task", id)).unwrap().and_then(no);
        assert_eq!(get("a"), None);
        block_on(db.update("task", "a", &json!({ "name": "x" }))).unwrap();
        assert_eq!(get("a"), None);
        block_on(db.update("task", "a", &json!({ "name": "y" }))).unwrap();
        assert_eq!(get("a"), Some(Value::from(2)));
        assert_clean(&db);
        drop(db);
        let other = with("fields.no = \"int?\"\nsequence.no = [\"name\"]\n");
        let refused = open_model(&store, &other).unwrap_err().to_string();
        assert!(refused.contains("would begin again"), "{refused}");
        let renamed = with("fields.nr = \"int?\"\nrenamed.nr = \"no\"\nsequence.nr = []\n");
        let db = open_model(&store, &renamed).unwrap();
        let new = block_on(db.create("task", &json!({ "id": "c", "name": "x" }))).unwrap();
        assert_eq!(new.get("nr"), Some(&Value::from(3)));
        assert_clean(&db);
        drop(db);
        let db = open_model(&store, &with("fields.nr = \"int?\"\n")).unwrap();
        let new = block_on(db.create("task", &json!({ "id": "d", "name": "x" }))).unwrap();
        assert_eq!(new.get("nr"), None);
        assert_clean(&db);
        drop(db);
        let refused = open_model(&store, &with("fields.nr = \"int?\"\nsequence.nr = []\n"));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("stored entities may have numbers"), "{refused}");
    }
}

#[test]
fn a_sequence_that_lags_behind_is_found_and_repaired() {
    for store in stores() {
        let db = block_on(open_at(MODEL, store.clone(), &ManualClock::new()));
        block_on(db.create("project", &json!({ "id": "p" }))).unwrap();
        for title in ["a", "b", "c"] {
            create(&db, "p", title);
        }
        let row = sequence_row(&*store);
        let mut damaged = row.clone();
        damaged.insert("last", 1);
        block_on(store.put(Put::new(&table(), damaged))).unwrap();
        let found = block_on(findings(&db));
        let behind =
            |number: i64| format!("number {number} is beyond the last one of its sequence");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!([2, 3].iter().all(|n| found.iter().any(|line| line.contains(&behind(*n)))));
        block_on(db.verify(Repair::Yes, |_| {})).unwrap();
        assert_clean(&db);
        assert_eq!(sequence_row(&*store), row);
        assert_eq!(number(&create(&db, "p", "d")), Some(4));
    }
}

fn table() -> TableName {
    TableName::new("keyloom").unwrap()
}

/// The only row of a sequence.
fn sequence_row(store: &dyn Store) -> Item {
    let page = block_on(store.scan(keyloom_store::Scan::new(&table()))).unwrap();
    let rows: Vec<Item> = page.items.into_iter().filter(|row| row.contains("last")).collect();
    let [row] = &rows[..] else { panic!("there is one: {rows:?}") };
    let key = ["PK", "SK"].map(|name| (name, row.get(name).unwrap().clone()));
    block_on(store.get(Get::new(&table(), Item::from(key)))).unwrap().unwrap()
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let (mut disk, clock) = (SimDisk::new(0), ManualClock::new());
    let mut last = 0;
    for round in 0..3 {
        let db = block_on(open_at(MODEL, Arc::new(engine_on(&disk, &clock)), &clock));
        if round == 0 {
            block_on(db.create("project", &json!({ "id": "p" }))).unwrap();
        }
        for one in 0..5 {
            last += 1;
            assert_eq!(number(&create(&db, "p", &format!("{round} {one}"))), Some(last));
        }
        disk.crash_now();
        drop(db);
        disk = disk.after_crash(round);
    }
}
