//! The exact message of every error of a database.

use std::sync::Arc;

use keyloom::{Change, Db, Entropy, Error, Options};
use keyloom_store::{MemoryStore, Put, Store};
use keyloom_testkit::ManualClock;
use keyloom_value::Value;
use pollster::block_on;
use serde_json::json;

use crate::contents::{raw_rows, table};
use crate::rig::{assert_golden, open};

const MODEL: &str = r#"
[entity.person]
id = "given"
fields.name = "text 1..40"
fields.born = "int?"
unique = ["name"]
list.by_name = { order = "name" }
list.by_born = { by = "born", order = "name" }

[entity.pet]
id = "given"
fields.owner = "ref person refuse"
fields.name = "text"
unique = [["owner", "name"]]

[entity.toy]
fields.name = "text?"

[entity.bill]
id = "given"
tenant = "firm"
fields.firm = "text"
"#;

type Case = (&'static str, fn(&Db) -> Error);

#[derive(Debug)]
struct Nothing;

impl Entropy for Nothing {
    fn fill(&self, _: &mut [u8]) -> std::io::Result<()> {
        Err(std::io::Error::other("the device is gone"))
    }
}

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::new())))
}

/// Two people, a pet.
fn database() -> (Db, Arc<dyn Store>) {
    let store = store();
    let db = block_on(open(MODEL, store.clone()));
    for id in ["ann", "bob"] {
        block_on(db.create("person", &json!({"id": id, "name": id}))).unwrap();
    }
    block_on(db.create("pet", &json!({"id": "rex", "owner": "ann", "name": "Rex"}))).unwrap();
    (db, store)
}

fn of<T: std::fmt::Debug>(result: Result<T, Error>) -> Error {
    result.expect_err("it fails")
}

fn reopen(model: &str) -> Error {
    let (_, store) = database();
    of(block_on(Db::open(model, store)))
}

const CASES: &[Case] = &[
    ("a model with an error", |_| reopen("[entity.person]\nfields.name = \"txt\"\n")),
    ("an incompatible change of the model", |_| {
        reopen(&MODEL.replace("fields.name = \"text 1..40\"", "fields.name = \"int\""))
    }),
    ("an unknown entity", |db| of(block_on(db.get("persn", "ann")))),
    ("an unknown entity without a similar name", |db| of(block_on(db.get("invoice", "1")))),
    ("an unknown list", |db| of(block_on(db.list("person", "by_nam").read()))),
    ("a list without a value of `by`", |db| of(block_on(db.list("person", "by_born").read()))),
    ("a list with an unexpected value", |db| {
        of(block_on(db.list("person", "by_name").by("born", 1).read()))
    }),
    ("a range that does not fit the order of a list", |db| {
        of(block_on(db.list("person", "by_name").at_least("born", 1).read()))
    }),
    ("an unknown unique", |db| of(block_on(db.find("person", &[("born", Value::from(1))])))),
    ("an invalid position of a verification", |db| {
        of(block_on(db.verify_page(keyloom::Repair::No, Some("here"))))
    }),
    ("an invalid document", |db| {
        of(block_on(db.create("person", &json!({"id": "x", "name": "", "born": "old"}))))
    }),
    ("a document that is not an object", |db| of(block_on(db.create("person", &json!([1]))))),
    ("a type with other fields", |db| {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "it is only read into")]
        struct Person {
            height: u32,
        }
        of(block_on(db.get("person", "ann")).unwrap().unwrap().to::<Person>())
    }),
    ("not found", |db| of(block_on(db.delete("person", "zoe")))),
    ("an existing id", |db| of(block_on(db.create("person", &json!({"id": "ann", "name": "x"}))))),
    ("a duplicate value", |db| {
        of(block_on(db.create("person", &json!({"id": "x", "name": "ann"}))))
    }),
    ("a duplicate combination", |db| {
        of(block_on(db.create("pet", &json!({"id": "x", "owner": "ann", "name": "Rex"}))))
    }),
    ("duplicates under a new model", |db| {
        block_on(db.create("toy", &json!({"name": "ball"}))).unwrap();
        Error::UniqueViolation {
            entity: "toy".to_owned(),
            fields: vec!["name".to_owned()],
            id: Some("1".to_owned()),
            owner: Some("2".to_owned()),
        }
    }),
    ("a version mismatch", |db| {
        match of(block_on(db.update("person", "ann", &json!({"born": 1, "version": "v1"})))) {
            Error::VersionMismatch { entity, id, .. } => {
                Error::VersionMismatch { entity, id, found: "v2".to_owned() }
            }
            other => other,
        }
    }),
    ("a reference that forbids a deletion", |db| of(block_on(db.delete("person", "ann")))),
    ("a missing target", |db| of(block_on(db.update("pet", "rex", &json!({"owner": "zoe"}))))),
    ("two changes of one entity", |db| {
        let twice = vec![Change::delete("person", "bob"), Change::delete("person", "bob")];
        of(block_on(db.transact(twice)))
    }),
    ("two changes of one name", |db| {
        let toy = || Change::create("toy", &json!({})).unwrap().named("doll");
        of(block_on(db.transact(vec![toy(), toy()])))
    }),
    ("a name that no change has", |db| {
        let toy = json!({"name": {"$ref": "doll"}});
        of(block_on(db.create("toy", &toy)))
    }),
    ("a name of another kind of entity", |db| {
        let toy = Change::create("toy", &json!({})).unwrap().named("doll");
        let pet = json!({"id": "x", "name": "x", "owner": {"$ref": "doll"}});
        of(block_on(db.transact(vec![toy, Change::create("pet", &pet).unwrap()])))
    }),
    ("a reused idempotency key", |db| {
        let toy = |name| vec![Change::create("toy", &json!({"name": name})).unwrap()];
        block_on(db.transact_idempotent("4711", toy("ball"))).unwrap();
        of(block_on(db.transact_idempotent("4711", toy("doll"))))
    }),
    ("an invalid idempotency key", |db| of(block_on(db.transact_idempotent("", vec![])))),
    ("a result that is too large", |db| {
        let toy = |_| Change::create("toy", &json!({"name": "x".repeat(300_000)})).unwrap();
        of(block_on(db.transact_idempotent("4711", (0..2).map(toy).collect())))
    }),
    ("a damaged idempotency record", |_| {
        let (db, store) = database();
        block_on(db.transact_idempotent("4711", vec![])).unwrap();
        for mut row in raw_rows(&*store).into_iter().filter(|row| row.contains("E")) {
            row.remove("fingerprint");
            block_on(store.put(Put::new(&table(), row))).unwrap();
        }
        of(block_on(db.transact_idempotent("4711", vec![])))
    }),
    ("a missing tenant", |db| of(block_on(db.get("bill", "1")))),
    ("an invalid tenant", |db| of(block_on(db.tenant(true).get("bill", "1")))),
    ("another tenant", |db| {
        of(block_on(db.tenant("a").create("bill", &json!({"id": "1", "firm": "b"}))))
    }),
    ("a missing id", |db| of(block_on(db.create("person", &json!({"name": "x"}))))),
    ("an unexpected id", |db| of(block_on(db.create("toy", &json!({"id": "x"}))))),
    ("another id", |db| of(block_on(db.put("person", "ann", &json!({"id": "bob", "name": "x"}))))),
    ("an invalid id", |db| of(block_on(db.create("person", &json!({"id": "..", "name": "x"}))))),
    ("too many changes", |db| {
        let toy = |_| Change::create("toy", &json!({})).unwrap();
        of(block_on(db.transact((0..101).map(toy).collect())))
    }),
    ("a key that is too long", |db| {
        let name = "x".repeat(3000);
        of(block_on(db.create("pet", &json!({"id": "x", "owner": "ann", "name": name}))))
    }),
    ("still being built", |_| {
        let (_, store) = database();
        let model =
            MODEL.replace("list.by_name =", "list.new = { order = \"-name\" }\nlist.by_name =");
        let db = block_on(open(&model, store));
        of(block_on(db.list("person", "new").read()))
    }),
    ("a unique that is still being built", |_| {
        let (_, store) = database();
        let model = MODEL.replace("unique = [\"name\"]", "unique = [\"name\", \"born\"]");
        let db = block_on(open(&model, store));
        of(block_on(db.find("person", &[("born", Value::from(1))])))
    }),
    ("an invalid limit", |db| of(block_on(db.list("person", "by_name").limit(0).read()))),
    ("an invalid value", |db| of(block_on(db.find("person", &[("name", Value::from(true))])))),
    ("an invalid cursor", |db| of(block_on(db.list("person", "by_name").after("nonsense").read()))),
    ("a cursor of another query", |db| {
        let page = block_on(db.list("person", "by_name").limit(1).read()).unwrap();
        of(block_on(db.list("person", "by_name").backward().after(page.next.unwrap()).read()))
    }),
    ("an unknown step", |db| of(block_on(db.tree("pet", "rex", "ownr", None)))),
    ("an unknown step without a similar name", |db| {
        of(block_on(db.tree("pet", "rex", "owner.home", None)))
    }),
    ("a path that is too long", |db| {
        of(block_on(db.tree("pet", "rex", &["owner"; 9].join("."), None)))
    }),
    ("paths that are too many", |db| {
        of(block_on(db.tree("pet", "rex", &["owner"; 21].join(","), None)))
    }),
    ("trees of different kinds", |db| {
        let rex = block_on(db.get("pet", "rex")).unwrap().unwrap();
        of(block_on(db.trees("person", vec![rex], "", None)))
    }),
    ("a tree that is too large", |_| Error::TreeTooLarge { entities_max: 5000 }),
    ("a store that is busy", |_| Error::Unanswered { rows: 7 }),
    ("contention", |_| Error::Contended),
    ("a damaged row", |_| {
        let (db, store) = database();
        let rows = raw_rows(&*store).into_iter();
        for mut row in rows.filter(|row| row.contains("born") || row.contains("name")) {
            row.remove("V");
            block_on(store.put(Put::new(&table(), row))).unwrap();
        }
        of(block_on(db.get("person", "ann")))
    }),
    ("an orphaned guard", |_| {
        let (db, store) = database();
        let is_ann = |row: &keyloom_value::Item| row.get("name") == Some(&Value::from("bob"));
        for row in raw_rows(&*store).into_iter().filter(is_ann) {
            let key = ["PK", "SK"].map(|name| (name, row.get(name).unwrap().clone()));
            let delete = keyloom_store::Delete::new(&table(), key.into());
            block_on(store.delete(delete)).unwrap();
        }
        of(block_on(db.create("person", &json!({"id": "x", "name": "bob"}))))
    }),
    ("a failing source of randomness", |_| {
        let options = Options { entropy: Arc::new(Nothing), ..Options::default() };
        of(block_on(Db::open_with(MODEL, store(), options)))
    }),
    ("an invalid table name", |_| {
        let options = Options { table: "a b".to_owned(), ..Options::default() };
        of(block_on(Db::open_with(MODEL, store(), options)))
    }),
];

#[test]
fn errors_say_what_is_wrong_where_and_how_to_fix_it() {
    let mut said = String::new();
    for (case, fail) in CASES {
        let (db, _) = database();
        said.push_str(&format!("# {case}\n{}\n\n", fail(&db).to_string().trim_end()));
    }
    assert_golden("errors", &said);
}
