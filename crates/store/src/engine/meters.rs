//! What the engine counts while it runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    groups: AtomicU64,
    syncs: AtomicU64,
    sync_ns: AtomicU64,
}

impl Meters {
    /// A group of commits was logged.
    pub(crate) fn count_group(&self) {
        self.groups.fetch_add(1, Ordering::Relaxed);
    }

    /// Syncs the log, and counts that.
    pub(crate) fn sync<T>(&self, sync: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let synced = sync();
        let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.sync_ns.fetch_add(took_ns, Ordering::Relaxed);
        synced
    }

    pub(crate) fn groups(&self) -> u64 {
        self.groups.load(Ordering::Relaxed)
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    pub(crate) fn sync_time(&self) -> Duration {
        Duration::from_nanos(self.sync_ns.load(Ordering::Relaxed))
    }
}
