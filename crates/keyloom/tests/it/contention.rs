//! Writes that keep conflicting with others: they fail within a deadline, wait between attempts,
//! and leave nothing behind, even if the caller drops them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use keyloom::{Change, Clock, Db, Error, Item};
use keyloom_store::{Answer, Error as StoreError, Put, Store, TransactWrite, UpdateItem};
use keyloom_testkit::pausing::{pausing, stop_after};
use keyloom_testkit::{Front, InFront, ManualClock};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, end_deletions, memory_store_at, open_at};

const MODEL: &str = r#"
[entity.team]
id = "given"
fields.name = "text"
unique = ["name"]

[entity.person]
id = "given"
fields.team = "ref team cascade"
fields.rank = "int"
list.by_rank = { by = "team", order = "rank" }
"#;

/// The longest time until the last attempt: the deadline, and the longest wait after its last
/// check.
const DEADLINE: Duration = Duration::from_millis(10_000 + 64);
/// Far more attempts than fit into the deadline, and far fewer than a loop without waits makes.
const ATTEMPTS_MAX: usize = 2_000;

/// A store on which every conditional write conflicts while `loses` is set.
struct Losing {
    store: Arc<dyn Store>,
    loses: AtomicBool,
    writes: AtomicUsize,
}

impl Losing {
    /// Whether a write conflicts.
    fn is_lost(&self) -> bool {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.loses.load(Ordering::Relaxed)
    }
}

impl Front for Losing {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        if self.is_lost() {
            return Box::pin(async { Err(StoreError::ConditionFailed { item: None }) });
        }
        self.store.put(put)
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        if self.is_lost() {
            return Box::pin(async { Err(StoreError::ConditionFailed { item: None }) });
        }
        self.store.update(update)
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        if self.is_lost() {
            let reasons = vec![None; transaction.actions.len()];
            return Box::pin(async { Err(StoreError::Canceled { reasons }) });
        }
        self.store.transact_write(transaction)
    }
}

struct Rig {
    losing: Arc<InFront<Losing>>,
    clock: ManualClock,
    db: Db,
}

impl Rig {
    /// A team with a member, on a store whose conditional writes conflict from then on.
    fn new() -> Rig {
        let clock = ManualClock::new();
        let store = Arc::new(memory_store_at(&clock));
        let (loses, writes) = (AtomicBool::new(false), AtomicUsize::new(0));
        let losing = Arc::new(InFront(Losing { store, loses, writes }));
        let db = block_on(open_at(MODEL, losing.clone(), &clock));
        block_on(db.create("team", &json!({"id": "t", "name": "one"}))).unwrap();
        block_on(db.create("person", &json!({"id": "p", "team": "t", "rank": 1}))).unwrap();
        losing.0.loses.store(true, Ordering::Relaxed);
        losing.0.writes.store(0, Ordering::Relaxed);
        Rig { losing, clock, db }
    }

    fn writes(&self) -> usize {
        self.losing.0.writes.load(Ordering::Relaxed)
    }

    fn stop_losing(&self) {
        self.losing.0.loses.store(false, Ordering::Relaxed);
    }
}

type Call = fn(Db) -> keyloom::Answer<'static, ()>;

const CALLS: [(&str, Call); 4] = [
    ("update", |db| {
        Box::pin(async move { db.update("person", "p", &json!({"rank": 2})).await.map(drop) })
    }),
    ("create", |db| {
        let person = json!({"id": "q", "team": "t", "rank": 3});
        Box::pin(async move { db.create("person", &person).await.map(drop) })
    }),
    ("delete", |db| Box::pin(async move { db.delete("team", "t").await })),
    ("transact_idempotent", |db| {
        Box::pin(async move {
            let changes = vec![Change::update("person", "p", &json!({"rank": 4}))?];
            db.transact_idempotent("key", changes).await.map(drop)
        })
    }),
];

#[test]
fn a_write_that_always_conflicts_fails_within_the_deadline() {
    for (name, call) in CALLS {
        let rig = Rig::new();
        let began_ms = rig.clock.now().0;
        let answer = block_on(call(rig.db.clone()));
        assert!(matches!(answer, Err(Error::Contended)), "{name}: {answer:?}");
        let attempts = rig.writes();
        assert!((8..ATTEMPTS_MAX).contains(&attempts), "{name}: {attempts} attempts");
        let slept = rig.clock.slept();
        assert!(slept <= DEADLINE, "{name}: {slept:?}");
        assert_eq!(rig.clock.now().0, began_ms, "a test's clock does not move by itself");
        rig.stop_losing();
        assert_clean(&rig.db);
        block_on(call(rig.db.clone())).expect("nothing is in its way any more");
        assert_clean(&rig.db);
    }
}

#[test]
fn a_call_dropped_between_attempts_leaves_nothing_behind() {
    for (name, call) in CALLS {
        for polls in [1, 5, 20, 100] {
            let rig = Rig::new();
            let slow = block_on(open_at(MODEL, pausing(rig.losing.clone()), &rig.clock));
            assert!(stop_after(polls, call(slow)).is_none(), "{name} waits");
            rig.stop_losing();
            end_deletions(&rig.db, &rig.clock);
            assert_clean(&rig.db);
            block_on(call(rig.db.clone())).expect("nothing is in its way");
            assert_clean(&rig.db);
        }
    }
}
