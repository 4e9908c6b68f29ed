//! What is under test.

use std::sync::Arc;

use keyloom_store::{MemoryStore, Store};

use crate::ManualClock;

/// A store under test, with what a test needs to rule.
///
/// Implementors MUST start without tables, at [`ManualClock::START`], and delete expired items no
/// sooner than their clock says and no later than `settle` returns.
pub trait Subject: Send + Sync {
    /// The store.
    fn store(&self) -> Arc<dyn Store>;
    /// The clock that the store goes by.
    fn clock(&self) -> &ManualClock;
    /// Lets all work in the background finish: indexes are filled, what has expired is deleted.
    fn settle(&self);
}

/// The reference as a subject.
pub struct ReferenceSubject {
    store: Arc<MemoryStore>,
    clock: ManualClock,
}

impl ReferenceSubject {
    /// One without tables.
    pub fn new() -> ReferenceSubject {
        let clock = ManualClock::new();
        ReferenceSubject { store: Arc::new(MemoryStore::new(Arc::new(clock.clone()))), clock }
    }
}

impl Default for ReferenceSubject {
    fn default() -> ReferenceSubject {
        ReferenceSubject::new()
    }
}

impl Subject for ReferenceSubject {
    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn settle(&self) {
        self.store.expire();
    }
}
