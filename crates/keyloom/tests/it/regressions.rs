//! Faults that were found once, each with its story.

use keyloom::{Change, Error};
use keyloom_value::Value;
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, each_store, open};

/// A transaction answered for each change what that one alone would have come to: here a reference
/// that the other change of the transaction has cleared, under a version that never was.
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

/// A deletion of fewer entities than a transaction can have, with more rows than it can have, was
/// refused as too large, though one of more entities was done step by step.
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

/// Whether entities collide in a new unique was judged without the defaults of fields that come
/// with it, so that the model was taken up and the backfill could never end.
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

/// A field that came with a default got that of a later model, if that was opened before the rows
/// were written anew: a document that was read changed without anybody having changed it.
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

/// What an entity refers to was read together with the entity, which asked for one row twice if that
/// was itself. DynamoDB refuses such a read, so nothing could be verified there.
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
