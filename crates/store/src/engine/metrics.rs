//! Counters of a running engine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counters since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    batches: AtomicU64,
    syncs: AtomicU64,
    sync_ns: AtomicU64,
}

impl Metrics {
    /// Counts a commit batch that was logged.
    pub(crate) fn count_batch(&self) {
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs a sync of the log; counts and times it.
    pub(crate) fn sync<T>(&self, sync: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let synced = sync();
        let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.sync_ns.fetch_add(took_ns, Ordering::Relaxed);
        synced
    }

    pub(crate) fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    pub(crate) fn sync_time(&self) -> Duration {
        Duration::from_nanos(self.sync_ns.load(Ordering::Relaxed))
    }
}
