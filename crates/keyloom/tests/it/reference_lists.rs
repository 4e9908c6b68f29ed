//! Lists of references: references that a write adds must exist, and stay when their target is
//! deleted.

use std::sync::Arc;

use keyloom::{Change, Db, Entry, Error, Existing};
use keyloom_store::MemoryStore;
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::rig::{assert_clean, open};

const MODEL: &str = r#"
[entity.person]
id = "given"
tenant = "domain"
expires = "until"
fields.domain = "text"
fields.until = "time?"

[entity.team]
id = "given"
tenant = "domain"
fields.domain = "text"
fields.name = "text?"
fields.members = "list of ref person keep ..4 = []"
"#;

/// Two people of one tenant, and one of another.
fn people() -> (Db, Db) {
    let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
    let db = block_on(open(MODEL, store));
    let (acme, other) = (db.tenant("acme"), db.tenant("other"));
    for (db, id) in [(&acme, "ada"), (&acme, "bob"), (&other, "eve")] {
        block_on(db.create("person", &json!({ "id": id }))).unwrap();
    }
    (db, acme)
}

fn members(db: &Db) -> Json {
    let team = block_on(db.get("team", "t")).unwrap().unwrap();
    serde_json::from_str::<Json>(&team.to_json()).unwrap()["members"].clone()
}

#[track_caller]
fn expect_gone<T: std::fmt::Debug>(done: Result<T, Error>, expected: &str) {
    match done {
        Err(Error::TargetGone { field, id, .. }) => {
            assert_eq!((field.as_str(), id.as_str()), ("members", expected));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn added_references_must_exist() {
    let (db, acme) = people();
    let create =
        |members: &[&str]| block_on(acme.create("team", &json!({ "id": "t", "members": members })));
    expect_gone(create(&["ada", "nobody"]), "nobody");
    expect_gone(create(&["eve"]), "eve");
    create(&["ada", "bob", "ada"]).unwrap();
    let set = |members: &[&str]| block_on(acme.update("team", "t", &json!({ "members": members })));
    expect_gone(set(&["ada", "nobody"]), "nobody");
    expect_gone(block_on(acme.put("team", "t", &json!({ "members": ["nobody"] }))), "nobody");
    assert_eq!(members(&acme), json!(["ada", "bob", "ada"]));
    let long = set(&["ada", "ada", "ada", "ada", "ada"]);
    assert!(matches!(long, Err(Error::Fields { .. })));
    assert_clean(&db);
}

#[test]
fn references_to_deleted_entities_stay_and_cannot_be_added_again() {
    let (db, acme) = people();
    block_on(acme.create("team", &json!({ "id": "t", "members": ["ada", "bob"] }))).unwrap();
    block_on(acme.delete("person", "ada")).unwrap();
    assert_eq!(members(&acme), json!(["ada", "bob"]));
    assert_clean(&db);
    block_on(acme.update("team", "t", &json!({ "name": "x" }))).unwrap();
    block_on(acme.update("team", "t", &json!({ "members": ["bob", "ada"] }))).unwrap();
    block_on(acme.update("team", "t", &json!({ "members": ["bob"] }))).unwrap();
    expect_gone(block_on(acme.update("team", "t", &json!({ "members": ["ada"] }))), "ada");
    assert_clean(&db);
}

#[test]
fn references_to_expired_entities_cannot_be_added() {
    let (_, acme) = people();
    block_on(acme.update("person", "ada", &json!({ "until": 1 }))).unwrap();
    expect_gone(block_on(acme.create("team", &json!({ "id": "t", "members": ["ada"] }))), "ada");
}

#[test]
fn a_transaction_can_refer_to_what_it_creates_but_not_to_what_it_deletes() {
    let (db, acme) = people();
    let team =
        |members: Json| Change::create("team", &json!({ "id": "t", "members": members })).unwrap();
    let gone = block_on(acme.transact(vec![Change::delete("person", "ada"), team(json!(["ada"]))]));
    expect_gone(gone, "ada");
    let cy = Change::create("person", &json!({ "id": "cy" })).unwrap();
    block_on(acme.transact(vec![team(json!(["cy"])), cy])).unwrap();
    assert_eq!(members(&acme), json!(["cy"]));
    assert_clean(&db);
}

#[test]
fn an_import_accepts_references_to_deleted_entities() {
    let (db, acme) = people();
    let fields = [("members", keyloom::Value::L(vec!["nobody".into()]))];
    let entry = Entry {
        entity: "team".to_owned(),
        tenant: Some("acme".into()),
        id: "t".to_owned(),
        fields: keyloom::Item::from(fields),
    };
    block_on(db.import(vec![entry], Existing::Keep)).unwrap();
    assert_eq!(members(&acme), json!(["nobody"]));
    assert_clean(&db);
}
