//! Every error of a database as a user meets it, word by word.

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
    ("a change of the model that cannot be", |_| {
        reopen(&MODEL.replace("fields.name = \"text 1..40\"", "fields.name = \"int\""))
    }),
    ("an entity that the model lacks", |db| of(block_on(db.get("persn", "ann")))),
    ("another one", |db| of(block_on(db.get("invoice", "1")))),
    ("a list that the model lacks", |db| of(block_on(db.list("person", "by_nam").read()))),
    ("a list without a value", |db| of(block_on(db.list("person", "by_born").read()))),
    ("a list with a value too many", |db| {
        of(block_on(db.list("person", "by_name").by("born", 1).read()))
    }),
    ("a range that a list lacks", |db| {
        of(block_on(db.list("person", "by_name").at_least("born", 1).read()))
    }),
    ("a unique that the model lacks", |db| {
        of(block_on(db.find("person", &[("born", Value::from(1))])))
    }),
    ("a place where no verification ended", |db| {
        of(block_on(db.verify_page(keyloom::Repair::No, Some("here"))))
    }),
    ("a document that breaks rules", |db| {
        of(block_on(db.create("person", &json!({"id": "x", "name": "", "born": "old"}))))
    }),
    ("a document that is none", |db| of(block_on(db.create("person", &json!([1]))))),
    ("a type that lacks fields", |db| {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "it is only read into")]
        struct Person {
            height: u32,
        }
        of(block_on(db.get("person", "ann")).unwrap().unwrap().to::<Person>())
    }),
    ("nothing there", |db| of(block_on(db.delete("person", "zoe")))),
    ("there already", |db| of(block_on(db.create("person", &json!({"id": "ann", "name": "x"}))))),
    ("taken", |db| of(block_on(db.create("person", &json!({"id": "x", "name": "ann"}))))),
    ("taken together", |db| {
        of(block_on(db.create("pet", &json!({"id": "x", "owner": "ann", "name": "Rex"}))))
    }),
    ("not unique under a new model", |db| {
        block_on(db.create("toy", &json!({"name": "ball"}))).unwrap();
        Error::UniqueViolation {
            entity: "toy".to_owned(),
            fields: vec!["name".to_owned()],
            id: Some("1".to_owned()),
            owner: Some("2".to_owned()),
        }
    }),
    ("another version", |db| {
        match of(block_on(db.update("person", "ann", &json!({"born": 1, "version": "v1"})))) {
            Error::VersionMismatch { entity, id, .. } => {
                Error::VersionMismatch { entity, id, found: "v2".to_owned() }
            }
            other => other,
        }
    }),
    ("in use", |db| of(block_on(db.delete("person", "ann")))),
    ("a target that is gone", |db| of(block_on(db.update("pet", "rex", &json!({"owner": "zoe"}))))),
    ("the same entity twice", |db| {
        let twice = vec![Change::delete("person", "bob"), Change::delete("person", "bob")];
        of(block_on(db.transact(twice)))
    }),
    ("a key for other changes", |db| {
        let toy = |name| vec![Change::create("toy", &json!({"name": name})).unwrap()];
        block_on(db.transact_idempotent("4711", toy("ball"))).unwrap();
        of(block_on(db.transact_idempotent("4711", toy("doll"))))
    }),
    ("a key that cannot be", |db| of(block_on(db.transact_idempotent("", vec![])))),
    ("an answer that is too large", |db| {
        let toy = |_| Change::create("toy", &json!({"name": "x".repeat(300_000)})).unwrap();
        of(block_on(db.transact_idempotent("4711", (0..2).map(toy).collect())))
    }),
    ("a receipt that is damaged", |_| {
        let (db, store) = database();
        block_on(db.transact_idempotent("4711", vec![])).unwrap();
        for mut row in raw_rows(&*store).into_iter().filter(|row| row.contains("E")) {
            row.remove("fingerprint");
            block_on(store.put(Put::new(&table(), row))).unwrap();
        }
        of(block_on(db.transact_idempotent("4711", vec![])))
    }),
    ("no tenant", |db| of(block_on(db.get("bill", "1")))),
    ("a tenant that is none", |db| of(block_on(db.tenant(true).get("bill", "1")))),
    ("another tenant", |db| {
        of(block_on(db.tenant("a").create("bill", &json!({"id": "1", "firm": "b"}))))
    }),
    ("no id", |db| of(block_on(db.create("person", &json!({"name": "x"}))))),
    ("an id that is made", |db| of(block_on(db.create("toy", &json!({"id": "x"}))))),
    ("another id", |db| of(block_on(db.put("person", "ann", &json!({"id": "bob", "name": "x"}))))),
    ("an id that cannot be", |db| {
        of(block_on(db.create("person", &json!({"id": "..", "name": "x"}))))
    }),
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
    ("a limit that cannot be", |db| of(block_on(db.list("person", "by_name").limit(0).read()))),
    ("a value that cannot be", |db| {
        of(block_on(db.find("person", &[("name", Value::from(true))])))
    }),
    ("a cursor that is none", |db| {
        of(block_on(db.list("person", "by_name").after("nonsense").read()))
    }),
    ("a cursor of another question", |db| {
        let page = block_on(db.list("person", "by_name").limit(1).read()).unwrap();
        of(block_on(db.list("person", "by_name").backward().after(page.next.unwrap()).read()))
    }),
    ("a step that the model lacks", |db| of(block_on(db.tree("pet", "rex", "ownr", None)))),
    ("a step with other names", |db| of(block_on(db.tree("pet", "rex", "owner.home", None)))),
    ("a path that is too long", |db| {
        of(block_on(db.tree("pet", "rex", &["owner"; 9].join("."), None)))
    }),
    ("paths that are too many", |db| {
        of(block_on(db.tree("pet", "rex", &["owner"; 21].join(","), None)))
    }),
    ("trees of another kind", |db| {
        let rex = block_on(db.get("pet", "rex")).unwrap().unwrap();
        of(block_on(db.trees("person", vec![rex], "", None)))
    }),
    ("a tree that is too large", |_| Error::TreeTooLarge { entities_max: 5000 }),
    ("a store that is busy", |_| Error::Unanswered { rows: 7 }),
    ("others all the time", |_| Error::Contended),
    ("a damaged row", |_| {
        let (db, store) = database();
        let rows = raw_rows(&*store).into_iter();
        for mut row in rows.filter(|row| row.contains("born") || row.contains("name")) {
            row.remove("V");
            block_on(store.put(Put::new(&table(), row))).unwrap();
        }
        of(block_on(db.get("person", "ann")))
    }),
    ("a guard for nobody", |_| {
        let (db, store) = database();
        let is_ann = |row: &keyloom_value::Item| row.get("name") == Some(&Value::from("bob"));
        for row in raw_rows(&*store).into_iter().filter(is_ann) {
            let key = ["PK", "SK"].map(|name| (name, row.get(name).unwrap().clone()));
            let delete = keyloom_store::Delete::new(&table(), key.into());
            block_on(store.delete(delete)).unwrap();
        }
        of(block_on(db.create("person", &json!({"id": "x", "name": "bob"}))))
    }),
    ("no randomness", |_| {
        let options = Options { entropy: Arc::new(Nothing), ..Options::default() };
        of(block_on(Db::open_with(MODEL, store(), options)))
    }),
    ("a table that cannot be", |_| {
        let options = Options { table: "a b".to_owned(), ..Options::default() };
        of(block_on(Db::open_with(MODEL, store(), options)))
    }),
];

#[test]
fn every_error_reads_like_a_person_wrote_it() {
    let mut said = String::new();
    for (case, fail) in CASES {
        let (db, _) = database();
        said.push_str(&format!("# {case}\n{}\n\n", fail(&db).to_string().trim_end()));
    }
    assert_golden("errors", &said);
}
