//! Background operations of several processes on a shared store: one of them runs each, and another
//! one takes over if it is gone.

use std::sync::Arc;

use keyloom::{Clock, Db};
use keyloom_store::Store;
use keyloom_testkit::ManualClock;
use keyloom_testkit::pausing::{go_on, pausing};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, memory_store_at, open_at};

const MODEL: &str = r#"
[entity.session]
id = "given"
fields.until = "time"
expires = "until"
"#;

struct Rig {
    clock: ManualClock,
    store: Arc<dyn Store>,
}

impl Rig {
    fn new() -> Rig {
        let clock = ManualClock::new();
        Rig { store: Arc::new(memory_store_at(&clock)), clock }
    }

    fn open(&self, model: &str) -> Db {
        block_on(open_at(model, self.store.clone(), &self.clock))
    }

    /// Sessions that have expired.
    fn expired(&self, db: &Db, count: u64) {
        for number in 0..count {
            let session = json!({"id": format!("{number}"), "until": self.clock.now().0 + 1});
            block_on(db.create("session", &session)).unwrap();
        }
        self.clock.advance_ms(10);
    }
}

/// Starts work that neither goes on nor is dropped, as in a process that is gone.
fn stop_dead<T>(work: impl Future<Output = T> + 'static, pauses: usize) {
    let mut work: std::pin::Pin<Box<dyn Future<Output = T>>> = Box::pin(work);
    let is_done = (0..pauses).any(|_| go_on(work.as_mut()).is_some());
    assert!(!is_done, "it is running after {pauses} calls");
    std::mem::forget(work);
}

#[test]
fn one_process_at_a_time_removes_expired_entities() {
    let rig = Rig::new();
    let db = rig.open(MODEL);
    rig.expired(&db, 20);
    let gone = block_on(open_at(MODEL, pausing(rig.store.clone()), &rig.clock));
    stop_dead(async move { gone.expire(100).await }, 30);
    assert_eq!(block_on(db.expire(100)).unwrap(), 0, "another process does");
    rig.clock.advance_ms(30_000);
    let count = block_on(db.expire(100)).unwrap();
    assert!((1..20).contains(&count), "it takes over: {count}");
    // It has given the lease back.
    let other = rig.open(MODEL);
    rig.expired(&db, 3);
    assert_eq!(block_on(other.expire(100)).unwrap(), 3);
    assert_clean(&db);
}
