//! Regression tests, each with the story of the bug.

use keyloom::{Change, Error};
use keyloom_value::Value;
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, each_store, open};

/// A transaction returned for each change what that change alone would have produced: here a
/// reference that another change of the transaction cleared, with a version that never existed.
#[test]
fn a_transaction_returns_the_final_state_of_every_entity() {
    let model = "[entity.a]\n[entity.b]\nfields.a = \"ref a clear?\"\nfields.n = \"int\"\n";
    each_store(|store| {
        block_on(async {
            let db = open(model, store).await;
            let a = db.create("a", &json!({})).await.unwrap();
            let b = db.create("b", &json!({"a": a.id(), "n": 1})).await.unwrap();
            let update = Change::update("b", b.id(), &json!({"n": 2})).unwrap();
            let answers = db.transact(vec![update, Change::delete("a", a.id())]).await.unwrap();
            let now = db.get("b", b.id()).await.unwrap();
            assert_eq!(answers, [now.clone(), None]);
            assert_eq!(now.unwrap().get("a"), None);
        });
    });
}

/// A deletion of few entities whose rows exceed a transaction was refused as too large, although
/// deletions of more entities ran in several transactions.
#[test]
fn a_deletion_of_few_entities_with_many_rows_succeeds() {
    let model = r#"
        [entity.parent]
        [entity.child]
        parent = "parent"
        on_parent_delete = "cascade"
        fields.a = "text"
        fields.b = "text"
        unique = ["a", "b", ["a", "b"], ["parent", "a"], ["parent", "b"]]
    "#;
    each_store(|store| {
        block_on(async {
            let db = open(model, store).await;
            let parent = db.create("parent", &json!({})).await.unwrap();
            for n in 0..20 {
                let child = json!({"parent": parent.id(), "a": n.to_string(), "b": n.to_string()});
                db.create("child", &child).await.unwrap();
            }
            db.delete("parent", parent.id()).await.unwrap();
            let found = db.find("child", &[("a", Value::from("7"))]).await.unwrap();
            assert_eq!(found, None);
        });
    });
}

/// The check for duplicates of a new unique ignored the defaults of fields that are new too, so the
/// model was accepted and the backfill could never complete.
#[test]
fn a_new_unique_on_a_new_default_is_refused_at_once() {
    let before = "[entity.a]\n";
    let after = "[entity.a]\nfields.n = \"int = 1\"\nunique = [\"n\"]\n";
    each_store(|store| {
        block_on(async {
            let db = open(before, store.clone()).await;
            db.create("a", &json!({})).await.unwrap();
            db.create("a", &json!({})).await.unwrap();
            let opened = keyloom::Db::open(after, store.clone()).await;
            assert!(matches!(opened, Err(Error::UniqueViolation { .. })), "{opened:?}");
            assert!(!open(before, store).await.is_backfill_pending());
        });
    });
}

/// A new field with a default got the default of a later model if that was opened before the
/// backfill: a document changed without being written.
#[test]
fn a_default_stays_when_the_next_model_has_another() {
    let model = |default: &str| format!("[entity.a]\nfields.m = \"int?\"\n{default}");
    each_store(|store| {
        block_on(async {
            let db = open(&model(""), store.clone()).await;
            let a = db.create("a", &json!({})).await.unwrap();
            open(&model("fields.n = \"int = 1\"\n"), store.clone()).await;
            let db = open(&model("fields.n = \"int = 2\"\n"), store).await;
            let one = Value::from(1);
            assert_eq!(db.get("a", a.id()).await.unwrap().unwrap().get("n"), Some(&one));
            db.backfill(|_| {}).await.unwrap();
            assert_eq!(db.get("a", a.id()).await.unwrap().unwrap().get("n"), Some(&one));
        });
    });
}

/// An entity and its targets were read in one batch, which requested a row twice if the entity
/// referred to itself. DynamoDB refuses such a batch, so verification failed there.
#[test]
fn an_entity_that_refers_to_itself_can_be_verified() {
    each_store(|store| {
        block_on(async {
            let db = open("[entity.a]\nfields.other = \"ref a clear?\"\n", store).await;
            let a = db.create("a", &json!({})).await.unwrap();
            db.update("a", a.id(), &json!({"other": a.id()})).await.unwrap();
            assert_clean(&db);
        });
    });
}
