//! Rows damaged by hand: `verify` reports exactly what is wrong and changes nothing; a repair fixes
//! what it can and reports the rest.

use std::sync::Arc;

use keyloom::{Db, Finding, Repair};
use keyloom_model::attribute::{OWNER, REVISION, VERSION};
use keyloom_model::{EntityKey, Layout, RowKey};
use keyloom_store::{Delete, Get, MemoryStore, Put, Store};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::{Item, KeyBytes, Value};
use pollster::block_on;
use serde_json::json;

use crate::contents::{first_layout, raw_rows, table};
use crate::rig::{assert_golden, engine, open};

pub(crate) const MODEL: &str = r#"
[entity.person]
id = "given"
fields.name = "text"
unique = ["name"]

[entity.shelf]
id = "given"
fields.name = "text"

[entity.book]
id = "given"
parent = "shelf"
fields.title = "text 1..40"
fields.pages = "int = 0"
fields.until = "time?"
fields.author = "ref person refuse?"
fields.lent = "ref person clear?"
fields.owner = "ref person cascade?"
expires = "until"
unique = [{ fields = ["title"], within = "shelf" }]
list.by_title = { by = "shelf", order = "title" }
list.by_pages = { order = "-pages" }
"#;

/// The rows of a small library, to be damaged.
struct Rows {
    store: Arc<dyn Store>,
    layout: Layout,
}

impl Rows {
    fn key(&self, entity: &str, id: &str) -> EntityKey {
        let entity = self.layout.model().find(entity).expect("an entity");
        EntityKey { entity, tenant: None, id: id.to_owned() }
    }

    fn own(&self, entity: &str, id: &str) -> RowKey {
        self.layout.own_key(&self.key(entity, id))
    }

    fn link(&self, field: &str, target: &str, book: &str) -> RowKey {
        let book = self.key("book", book);
        let declared = self.layout.model().entity(book.entity);
        let field = declared.find_field(field).expect("a field");
        let link = self.layout.references().of(book.entity).iter().find(|link| link.field == field);
        self.layout.references().key(link.expect("it refers"), target, &book)
    }

    fn guard(&self, entity: &str, values: &[&str]) -> RowKey {
        let key = self.key(entity, "");
        let (unique, _) = self.layout.model().entity(key.entity).uniques().next().expect("one");
        let values: Vec<Value> = values.iter().map(|value| Value::from(*value)).collect();
        self.layout.uniques().guard_key(&key, unique, &values).expect("it fits")
    }

    fn get(&self, key: &RowKey) -> Item {
        let row = block_on(self.store.get(Get::new(&table(), key.to_item()))).unwrap();
        row.expect("there is such a row")
    }

    fn put(&self, item: Item) {
        block_on(self.store.put(Put::new(&table(), item))).unwrap();
    }

    fn edit(&self, key: &RowKey, edit: impl FnOnce(&mut Item)) {
        let mut item = self.get(key);
        edit(&mut item);
        self.put(item);
    }

    fn set(&self, key: &RowKey, name: &str, value: impl Into<Value>) {
        self.edit(key, |item| drop(item.insert(name, value)));
    }

    fn unset(&self, key: &RowKey, name: &str) {
        self.edit(key, |item| drop(item.remove(name)));
    }

    fn remove(&self, key: &RowKey) {
        self.get(key);
        block_on(self.store.delete(Delete::new(&table(), key.to_item()))).unwrap();
    }

    /// Copies the row to another key.
    fn copy(&self, from: &RowKey, to: &RowKey, edit: impl FnOnce(&mut Item)) {
        let mut item = self.get(from);
        for (name, value) in to.to_item().iter() {
            item.insert(name.as_str(), value.clone());
        }
        edit(&mut item);
        self.put(item);
    }

    /// The names of the index key attributes of books in a list.
    fn slot(&self, list: &str) -> [String; 2] {
        let book = self.key("book", "").entity;
        let list = self.layout.model().entity(book).find_list(list).expect("a list");
        let slot = self.layout.lists().slot(book, list);
        [slot.partition().as_str().to_owned(), slot.sort().as_str().to_owned()]
    }

    fn partition(&self, entity: &str, id: &str) -> Vec<u8> {
        self.layout.entity_partition(&self.key(entity, id)).into_vec()
    }
}

async fn library(store: Arc<dyn Store>) -> Db {
    let db = open(MODEL, store).await;
    for id in ["ann", "bob", "cat"] {
        db.create("person", &json!({"id": id, "name": id})).await.unwrap();
    }
    for id in ["low", "top"] {
        db.create("shelf", &json!({"id": id, "name": id})).await.unwrap();
    }
    for (id, shelf, title) in [("b1", "low", "one"), ("b2", "low", "two"), ("b3", "top", "one")] {
        let book = json!({"id": id, "shelf": shelf, "title": title, "pages": 3, "author": "ann",
            "lent": "bob", "owner": "cat", "until": "2030-01-01T00:00:00Z"});
        db.create("book", &book).await.unwrap();
    }
    db
}

/// A way to damage rows. The findings are in `tests/golden`.
type Case = (&'static str, fn(&Rows));

const GUARDS: &[Case] = &[
    ("a guard is missing", |rows| rows.remove(&rows.guard("person", &["ann"]))),
    ("a guard is of another owner", |rows| {
        rows.set(&rows.guard("person", &["ann"]), OWNER, rows.partition("person", "bob"))
    }),
    ("a guard has no owner", |rows| rows.unset(&rows.guard("person", &["ann"]), OWNER)),
    ("a guard has more than an owner", |rows| rows.set(&rows.guard("person", &["ann"]), "x", 1)),
    ("a guard of an entity that does not have the value", |rows| {
        let to = rows.guard("person", &["zoe"]);
        rows.copy(&rows.guard("person", &["ann"]), &to, |_| {});
    }),
    ("a guard of an entity that is not there", |rows| {
        let to = rows.guard("book", &["top", "two"]);
        let owner = rows.partition("book", "b9");
        rows.copy(&rows.guard("person", &["ann"]), &to, |item| drop(item.insert(OWNER, owner)));
    }),
    ("two owners of one value", |rows| {
        rows.copy(&rows.own("person", "ann"), &rows.own("person", "eve"), |_| {})
    }),
];

const LINKS: &[Case] = &[
    ("a reference's row is missing", |rows| rows.remove(&rows.link("author", "ann", "b1"))),
    ("a reference's row says more", |rows| rows.set(&rows.link("author", "ann", "b1"), "x", 1)),
    ("a child's copy is missing", |rows| rows.remove(&rows.link("shelf", "low", "b1"))),
    ("a child's copy says something else", |rows| {
        rows.set(&rows.link("shelf", "low", "b1"), "pages", 9)
    }),
    ("a copy with a parent that is not its own", |rows| {
        let to = rows.link("shelf", "top", "b1");
        rows.copy(&rows.link("shelf", "low", "b1"), &to, |_| {});
    }),
    ("a reference's row of an entity that is not there", |rows| {
        let to = rows.link("lent", "bob", "b9");
        let owner = rows.partition("book", "b9");
        rows.copy(&rows.link("lent", "bob", "b1"), &to, |item| {
            item.insert(OWNER, owner);
        });
    }),
    ("a reference's row without an owner", |rows| {
        rows.unset(&rows.link("lent", "bob", "b1"), OWNER)
    }),
];

const OWN: &[Case] = &[
    ("a place in a list is missing", |rows| {
        rows.slot("by_title").iter().for_each(|name| rows.unset(&rows.own("book", "b1"), name))
    }),
    ("places in two lists are wrong", |rows| {
        rows.set(&rows.own("book", "b1"), &rows.slot("by_title")[1], b"x".to_vec());
        rows.set(&rows.own("book", "b1"), &rows.slot("by_pages")[0], b"x".to_vec());
    }),
    ("a field was changed and nothing else", |rows| rows.set(&rows.own("book", "b1"), "pages", 4)),
    ("a unique value was changed and nothing else", |rows| {
        rows.set(&rows.own("person", "ann"), "name", "zoe")
    }),
    ("a unique value became one that another has", |rows| {
        rows.set(&rows.own("person", "ann"), "name", "bob")
    }),
    ("an attribute that means nothing", |rows| rows.set(&rows.own("shelf", "low"), "X", 1)),
    ("the mark of no deletion", |rows| rows.set(&rows.own("shelf", "low"), "D", "gone")),
    ("no version", |rows| rows.unset(&rows.own("book", "b1"), VERSION)),
    ("a version that is a number", |rows| rows.set(&rows.own("book", "b1"), VERSION, 7)),
    ("no revision", |rows| rows.unset(&rows.own("book", "b1"), REVISION)),
    ("a revision to come", |rows| rows.set(&rows.own("book", "b1"), REVISION, 9)),
    ("a field of a wrong type", |rows| rows.set(&rows.own("book", "b1"), "title", true)),
    ("a field out of its range", |rows| rows.set(&rows.own("book", "b1"), "title", "x".repeat(41))),
    ("a field that is not there", |rows| rows.unset(&rows.own("person", "ann"), "name")),
    ("a field that the model does not have", |rows| {
        rows.set(&rows.own("person", "ann"), "nmae", 1)
    }),
    ("a value that is too long for a key", |rows| {
        rows.set(&rows.own("person", "ann"), "name", "x".repeat(3000))
    }),
    ("a parent of a wrong type", |rows| rows.set(&rows.own("book", "b1"), "shelf", 1)),
];

const GONE: &[Case] = &[
    ("the target of a reference that refuses is gone", |rows| {
        rows.remove(&rows.own("person", "ann"));
    }),
    ("the target of a reference that is cleared is gone", |rows| {
        rows.remove(&rows.own("person", "bob"))
    }),
    ("the target of a reference that cascades is gone", |rows| {
        rows.remove(&rows.own("person", "cat"))
    }),
    ("a parent is gone", |rows| rows.remove(&rows.own("shelf", "top"))),
    ("an entity is gone", |rows| rows.remove(&rows.own("book", "b2"))),
    ("rows of nothing", |rows| {
        let strays = [("z", "thing"), ("e", "nothing"), ("u", "person")];
        for (space, name) in strays {
            let mut partition = KeyBytes::new();
            partition.push(&space.into()).unwrap();
            partition.push(&name.into()).unwrap();
            let sort = KeyBytes::new();
            let mut sort = sort;
            sort.push(&1.into()).unwrap();
            rows.put(RowKey { partition, sort }.to_item());
        }
        let mut odd = rows.own("shelf", "low").to_item();
        odd.insert("SK", b"\xFF\xFF".to_vec());
        rows.put(odd);
    }),
];

fn words(found: &[Finding]) -> String {
    let mut words: Vec<String> = found.iter().map(|found| format!("  {found}\n")).collect();
    words.sort();
    words.concat()
}

/// All findings of a damage: without repair, with it, and afterwards.
fn report(store: Arc<dyn Store>, damage: fn(&Rows)) -> String {
    let db = block_on(library(store.clone()));
    damage(&Rows { store: store.clone(), layout: first_layout(MODEL) });
    let before = raw_rows(&*store);
    let verify = |repair| words(&block_on(db.verify(repair, |_| {})).expect("it verifies"));
    let found = verify(Repair::No);
    assert_eq!(raw_rows(&*store), before, "without repair nothing is changed");
    let repaired = verify(Repair::Yes);
    format!("found:\n{found}repaired:\n{repaired}left:\n{}", verify(Repair::No))
}

#[track_caller]
fn check(name: &str, cases: &[Case]) {
    let mut said = String::new();
    for (case, damage) in cases {
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
        let report_of_memory_store = report(memory, *damage);
        let on_engine = report(Arc::new(engine(&SimDisk::new(0))), *damage);
        assert_eq!(report_of_memory_store, on_engine, "{case}");
        said.push_str(&format!("# {case}\n{report_of_memory_store}\n"));
    }
    assert_golden(name, &said);
}

#[test]
fn damaged_guards_are_reported_and_repaired() {
    check("damaged_guards", GUARDS);
}

#[test]
fn damaged_links_are_reported_and_repaired() {
    check("damaged_links", LINKS);
}

#[test]
fn damaged_own_rows_are_reported_and_repaired_where_possible() {
    check("damaged_entities", OWN);
}

#[test]
fn missing_entities_are_reported_and_resolved_by_the_rules_of_their_references() {
    check("gone", GONE);
}
