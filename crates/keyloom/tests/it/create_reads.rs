//! What creating an entity reads: nothing if the id is generated and nothing conflicts; the row of
//! a given id, which may exist.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom::{Change, Db, Entropy, Error, Options};
use keyloom_store::{Answer, Get, Store};
use keyloom_testkit::{Front, InFront, ManualClock};
use keyloom_value::Item;
use pollster::block_on;
use serde_json::json;

use crate::rig::{findings, memory_store_at, open};

const MODEL: &str = r#"
[entity.note]
fields.name = "text"
unique = ["name"]

[entity.page]
id = "given"
fields.name = "text"
"#;

/// Counts rows that are read by their keys.
struct Gets {
    store: Arc<dyn Store>,
    count: AtomicU64,
}

impl Front for Gets {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.store.get(get)
    }
}

fn counted() -> Arc<InFront<Gets>> {
    let store = Arc::new(memory_store_at(&ManualClock::new()));
    Arc::new(InFront(Gets { store, count: AtomicU64::new(0) }))
}

fn taken(store: &InFront<Gets>) -> u64 {
    store.0.count.swap(0, Ordering::Relaxed)
}

#[test]
fn creating_with_a_generated_id_reads_no_row() {
    block_on(async {
        let store = counted();
        let db = open(MODEL, store.clone()).await;
        taken(&store);
        db.create("note", &json!({ "name": "one" })).await.expect("it is created");
        assert_eq!(taken(&store), 0);
        let two = ["two", "three"].map(|name| Change::create("note", &json!({ "name": name })));
        let two: Result<Vec<Change>, Error> = two.into_iter().collect();
        db.transact(two.expect("documents")).await.expect("they are created");
        assert_eq!(taken(&store), 0);
        // The owner of the conflicting guard, and no row of the new entity.
        let again = db.create("note", &json!({ "name": "one" })).await;
        assert!(matches!(again, Err(Error::UniqueViolation { .. })), "{again:?}");
        assert_eq!(taken(&store), 1);
        assert!(findings(&db).await.is_empty());
    });
}

#[test]
fn creating_with_a_given_id_reads_its_row() {
    block_on(async {
        let store = counted();
        let db = open(MODEL, store.clone()).await;
        taken(&store);
        let page = json!({ "id": "home", "name": "one" });
        db.create("page", &page).await.expect("it is created");
        assert_eq!(taken(&store), 1);
        let again = db.create("page", &page).await;
        assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
        assert_eq!(taken(&store), 1);
    });
}

/// Returns the same bytes every time.
#[derive(Debug)]
struct Constant;

impl Entropy for Constant {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        bytes.fill(7);
        Ok(())
    }
}

/// Two processes without entropy generate the same id: the condition of the put detects it, the
/// next attempt reads the row, and nothing is overwritten.
#[test]
fn a_generated_id_that_exists_is_detected_by_the_condition() {
    block_on(async {
        let store = counted();
        let clock = ManualClock::new();
        let options = || Options {
            clock: Arc::new(clock.clone()),
            entropy: Arc::new(Constant),
            ..Options::default()
        };
        let open = || Db::open_with(MODEL, store.clone(), options());
        let (one, two) = (open().await.expect("it opens"), open().await.expect("it opens"));
        // Opening the first one created a table and its secret.
        let first = one.create("note", &json!({ "name": "one" })).await.expect("it is created");
        let second = two.create("note", &json!({ "name": "two" })).await;
        assert!(matches!(second, Err(Error::Exists { .. })), "{second:?}");
        let kept = one.get("note", first.id()).await.expect("the store answers");
        assert_eq!(kept, Some(first));
        assert!(findings(&one).await.is_empty());
    });
}
