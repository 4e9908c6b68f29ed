//! Stores under test.

use std::sync::Arc;

use keyloom_store::{MemoryStore, Store};

use crate::ManualClock;

/// A store under test, with its clock and its background work under the test's control.
///
/// Implementors MUST start without tables, at [`ManualClock::START`], and delete expired items no
/// sooner than their clock says and no later than `settle` returns.
pub trait Subject: Send + Sync {
    /// The store.
    fn store(&self) -> Arc<dyn Store>;
    /// The store's clock.
    fn clock(&self) -> &ManualClock;
    /// Completes all background work: builds indexes, deletes expired items.
    fn settle(&self);
}

/// The memory store as a subject.
pub struct MemorySubject {
    store: Arc<MemoryStore>,
    clock: ManualClock,
}

impl MemorySubject {
    /// Creates one without tables.
    pub fn new() -> MemorySubject {
        let clock = ManualClock::new();
        MemorySubject { store: Arc::new(MemoryStore::new(Arc::new(clock.clone()))), clock }
    }
}

impl Default for MemorySubject {
    fn default() -> MemorySubject {
        MemorySubject::new()
    }
}

impl Subject for MemorySubject {
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
