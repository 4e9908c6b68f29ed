//! References to a kind with shards, on a store that processes share: writers who refer to one entity
//! touch no common row, and everything else is as without shards.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use keyloom::{Db, Error};
use keyloom_model::attribute::PARTITION;
use keyloom_store::{Answer, Store, TransactAction, TransactWrite};
use keyloom_testkit::{Front, InFront, ManualClock, Random};
use keyloom_value::{Item, Value};
use pollster::block_on;
use serde_json::json;

use crate::rig::{findings, open_any, plain_store};

const MODEL: &str = r#"
[entity.post]
id = "given"
reference_shards = 4
fields.title = "text"

[entity.comment]
id = "given"
parent = "post"
on_parent_delete = "cascade"
fields.text = "text"

[entity.like]
id = "given"
fields.post = "ref post clear?"
"#;

fn post(db: &Db, id: &str) {
    block_on(db.create("post", &json!({ "id": id, "title": id }))).expect("a post");
}

fn comment(db: &Db, id: &str, post: &str) -> Result<(), Error> {
    block_on(db.create("comment", &json!({ "id": id, "post": post, "text": "" }))).map(drop)
}

fn like(db: &Db, id: &str, post: &str) -> Result<(), Error> {
    block_on(db.create("like", &json!({ "id": id, "post": post }))).map(drop)
}

/// The ids of all children, page by page.
fn children(db: &Db, post: &str, limit: u32) -> Vec<String> {
    let ids = |records: &[keyloom::Record]| -> Vec<String> {
        records.iter().map(|record| record.id().to_owned()).collect()
    };
    let Some(first) = block_on(db.with_children("post", post, None, limit)).expect("it is read")
    else {
        return vec![];
    };
    let (mut all, mut next) = (ids(&first.children), first.next);
    while let Some(after) = next {
        let page = block_on(db.children("post", post, None, (limit, Some(&after))));
        let page = page.expect("it is read").expect("it exists");
        all.extend(ids(&page.items));
        next = page.next;
    }
    all
}

/// The partitions of each transaction.
type Touched = Arc<Mutex<Vec<BTreeSet<Vec<u8>>>>>;

struct Watched(Arc<dyn Store>, Touched);

impl Front for Watched {
    fn behind(&self) -> &dyn Store {
        &*self.0
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        let key = |action: &TransactAction| match action {
            TransactAction::Put(put) => put.item.clone(),
            TransactAction::Update(update) => update.key.clone(),
            TransactAction::Delete(delete) => delete.key.clone(),
            TransactAction::Check(check) => check.key.clone(),
        };
        let partition = |item: Item| item.get(PARTITION).and_then(Value::as_b).map(<[u8]>::to_vec);
        let touched = transaction.actions.iter().map(key).filter_map(partition);
        // A process has permits of its own.
        let is_system = |key: &Vec<u8>| key.starts_with(&[2, b'm', 0]);
        let touched = touched.filter(|key| !is_system(key)).collect();
        self.1.lock().expect("no panic").push(touched);
        self.0.transact_write(transaction)
    }
}

#[test]
fn writers_who_refer_to_one_entity_spread_over_its_shards() {
    let (clock, touched) = (ManualClock::new(), Touched::default());
    let store: Arc<dyn Store> = Arc::new(InFront(Watched(plain_store(&clock), touched.clone())));
    let db = open_any(MODEL, &store, &clock);
    post(&db, "p");
    touched.lock().expect("no panic").clear();
    for number in 0..40 {
        comment(&db, &format!("c{number}"), "p").expect("a comment");
        like(&db, &format!("l{number}"), "p").expect("a like");
    }
    let touched = touched.lock().expect("no panic").clone();
    let mut most = 0;
    for partition in touched.iter().flatten() {
        most = most.max(touched.iter().filter(|some| some.contains(partition)).count());
    }
    assert!((20..=32).contains(&most), "a partition is in {most} of 80 transactions");
    assert_eq!(children(&db, "p", 7).len(), 40);
    assert_eq!(block_on(findings(&db)), [""; 0]);
}

#[test]
fn children_are_in_order_and_deleted_with_their_parent() {
    let clock = ManualClock::new();
    let db = open_any(MODEL, &plain_store(&clock), &clock);
    post(&db, "p");
    post(&db, "q");
    let mut ids: Vec<String> = (0..25).map(|number| format!("c{number}")).collect();
    for id in &ids {
        comment(&db, id, "p").expect("a comment");
    }
    like(&db, "l", "p").expect("a like");
    ids.sort();
    for limit in [1, 4, 25, 100] {
        assert_eq!(children(&db, "p", limit), ids);
        assert_eq!(children(&db, "q", limit), [""; 0]);
    }
    block_on(db.delete("post", "p")).expect("it is deleted");
    assert_eq!(children(&db, "p", 10), [""; 0]);
    assert!(block_on(db.get("comment", "c3")).expect("it is read").is_none());
    let left = block_on(db.get("like", "l")).expect("it is read").expect("it stays");
    assert_eq!(left.fields().get("post"), None);
    assert!(matches!(like(&db, "m", "p"), Err(Error::TargetGone { .. })));
    assert_eq!(block_on(findings(&db)), [""; 0]);
}

/// The number of shards changes while entities are written, before, during and after the backfill.
#[test]
fn references_are_found_whatever_number_of_shards_they_were_written_under() {
    for seed in 0..12 {
        let (clock, mut random) = (ManualClock::new(), Random::new(seed));
        let store = plain_store(&clock);
        let (mut posts, mut comments) = (BTreeSet::new(), BTreeSet::new());
        let mut number = 0;
        for shards in [1, 4, 2, 7, 1, 3] {
            let shards = match shards {
                1 => String::new(),
                shards => format!("reference_shards = {shards}"),
            };
            let db = open_any(&MODEL.replace("reference_shards = 4", &shards), &store, &clock);
            for step in 0..24 {
                number += 1;
                let of = format!("p{}", random.below(4));
                match random.below(8) {
                    0 if posts.remove(&of) => {
                        block_on(db.delete("post", &of)).expect("it is deleted");
                        comments.retain(|(_, post)| *post != of);
                    }
                    0 | 1 if !posts.contains(&of) => {
                        post(&db, &of);
                        posts.insert(of);
                    }
                    2 => match like(&db, &format!("l{number}"), &of) {
                        Ok(()) => assert!(posts.contains(&of), "seed {seed}"),
                        Err(_) => assert!(!posts.contains(&of), "seed {seed}"),
                    },
                    _ => match comment(&db, &format!("c{number}"), &of) {
                        Ok(()) => assert!(comments.insert((format!("c{number}"), of))),
                        Err(_) => assert!(!posts.contains(&of), "seed {seed}"),
                    },
                }
                if step == 12 && random.chance(3, 4) {
                    block_on(db.backfill(|_| {})).expect("it is rebuilt");
                }
                for of in &posts {
                    let mut own: Vec<String> = comments
                        .iter()
                        .filter(|(_, post)| post == of)
                        .map(|(id, _)| id.clone())
                        .collect();
                    own.sort();
                    assert_eq!(children(&db, of, 3), own, "seed {seed}");
                }
            }
            assert_eq!(block_on(findings(&db)), [""; 0], "seed {seed}");
        }
    }
}
