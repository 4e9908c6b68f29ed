//! A database that was killed while it removed the entities of a large deletion: it opens at once,
//! whatever is left, answers as after the deletion, and removes the rest in the background.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom::{Db, OperationKind};
use keyloom_store::Store;
use keyloom_testkit::pausing::{go_on, interleave, pausing};
use keyloom_testkit::{Front, InFront, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine, open};

const MODEL: &str = r#"
[entity.folder]
id = "given"

[entity.file]
id = "given"
parent = "folder"
on_parent_delete = "cascade"
fields.author = "text"
fields.title = "text"
list.all = { facets = ["author"] }
count.files = {}
board.authors = { of = "author" }
"#;

/// The number of deleted children.
const FILES: usize = 5_000;
/// The maximum number of requests that opening makes, whatever is left to remove.
const REQUESTS_MAX: u64 = 20;

/// A store that counts requests.
struct Counting {
    behind: Arc<dyn Store>,
    requests: AtomicU64,
}

impl Front for Counting {
    fn behind(&self) -> &dyn Store {
        &*self.behind
    }

    fn before(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(()))
    }
}

/// A store that other processes can have open, such as DynamoDB.
struct Shared(Arc<dyn Store>);

impl Front for Shared {
    fn behind(&self) -> &dyn Store {
        &*self.0
    }

    fn opening(&self) -> Option<u64> {
        None
    }
}

fn fill(db: &Db) {
    for folder in ["gone", "kept"] {
        block_on(db.create("folder", &json!({"id": folder}))).unwrap();
    }
    for number in 0..FILES + 10 {
        let folder = if number < FILES { "gone" } else { "kept" };
        let author = format!("a{}", number % 7);
        // Each of those that stay has another one.
        let title = if number < FILES { "same".to_owned() } else { number.to_string() };
        let id = number.to_string();
        let file = json!({"id": id, "folder": folder, "author": author, "title": title});
        block_on(db.create("file", &file)).unwrap();
    }
}

/// How many entities the running deletion has removed, if it has taken effect.
fn removed(db: &Db) -> Option<u64> {
    let operations = block_on(db.operations()).unwrap();
    let clearing = operations.iter().find(|one| one.kind == OperationKind::Clearing);
    clearing.map(|operation| operation.done)
}

/// Deletes the folder until a part of its files is removed, and then drops the call.
fn remove_a_part(store: &Arc<dyn Store>) {
    let quick = block_on(open(MODEL, store.clone()));
    let slow = interleave(open(MODEL, pausing(store.clone())), |_| {});
    let mut deletion = std::pin::pin!(slow.delete("folder", "gone"));
    while removed(&quick).is_none_or(|removed| removed < FILES as u64 / 10) {
        for _ in 0..500 {
            assert!(go_on(deletion.as_mut()).is_none(), "it takes longer");
        }
    }
}

/// The results of all queries that show whether the files are deleted.
fn assert_gone(db: &Db) {
    for id in ["0", "2500", "4999"] {
        assert!(block_on(db.get("file", id)).unwrap().is_none());
    }
    assert!(block_on(db.get("folder", "gone")).unwrap().is_none());
    let list = db.list("file", "all").limit(100);
    assert_eq!(block_on(list.total()).unwrap().count, 10);
    // A page may end early because much was read for it.
    let (mut listed, mut next) = (0, Some(list.clone()));
    while let Some(query) = next {
        let page = block_on(query.read()).unwrap();
        listed += page.items.len();
        next = page.next.map(|next| list.clone().after(next));
    }
    assert_eq!(listed, 10);
    assert_eq!(block_on(db.count("file", "files").total()).unwrap(), 10);
    let board = block_on(db.board("authors").read()).unwrap().items;
    assert_eq!(board.iter().map(|one| one.score.to_i64().unwrap()).sum::<i64>(), 10);
}

fn opens_and_clears(store: Arc<dyn Store>) {
    let counting = Arc::new(InFront(Counting { behind: store, requests: AtomicU64::new(0) }));
    let db = block_on(open(MODEL, counting.clone()));
    let requests = counting.0.requests.load(Ordering::SeqCst);
    assert!(requests <= REQUESTS_MAX, "{requests} requests");
    assert_gone(&db);
    assert!(removed(&db).is_some_and(|removed| removed < FILES as u64), "it is not removed yet");
    assert_clean(&db);
    assert_eq!(block_on(db.resume_deletions()).unwrap(), 1);
    assert_eq!(block_on(db.operations()).unwrap(), []);
    assert_gone(&db);
    assert_clean(&db);
    let before = counting.0.requests.load(Ordering::SeqCst);
    // One request notices that the last call has completed everything; later calls need none.
    (0..100).for_each(|_| assert_eq!(block_on(db.resume_deletions()).unwrap(), 0));
    let requests = counting.0.requests.load(Ordering::SeqCst) - before;
    assert!(requests <= 1, "{requests} requests for nothing");
}

#[test]
fn an_engine_killed_while_it_removes_entities_opens_at_once() {
    let disk = SimDisk::new(7);
    let store: Arc<dyn Store> = Arc::new(engine(&disk));
    fill(&block_on(open(MODEL, store.clone())));
    remove_a_part(&store);
    opens_and_clears(Arc::new(engine(&disk.after_crash(7))));
}

/// Deleted entities that are not removed yet cannot violate the rules of a new model.
#[test]
fn a_model_can_be_changed_before_all_entities_are_removed() {
    let disk = SimDisk::new(7);
    let store: Arc<dyn Store> = Arc::new(engine(&disk));
    fill(&block_on(open(MODEL, store.clone())));
    remove_a_part(&store);
    let unique = format!("{MODEL}unique = [\"title\"]\n");
    let db = block_on(open(&unique, Arc::new(engine(&disk.after_crash(7)))));
    assert_gone(&db);
    block_on(db.backfill(|_| {})).unwrap();
    let last = [("title", (FILES + 9).to_string().into())];
    assert!(block_on(db.find("file", &last)).unwrap().is_some());
    assert_gone(&db);
    assert_clean(&db);
}

#[test]
fn a_shared_store_opens_at_once_while_entities_are_removed() {
    let store: Arc<dyn Store> = Arc::new(InFront(Shared(Arc::new(engine(&SimDisk::new(7))))));
    fill(&block_on(open(MODEL, store.clone())));
    remove_a_part(&store);
    opens_and_clears(store);
}
