//! Reads that lag: global indexes, and replicas of the table.
//!
//! Before a write, at most every [`GRAIN`], a snapshot of the store is taken. A read that lags by
//! some time reads the first snapshot since then, so it misses what was written after it; if there
//! is none, nothing was written since and the store itself is the answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyloom_store::{Error, Read, Store, Time};

/// How far snapshots are apart.
const GRAIN: Duration = Duration::from_millis(5);

/// Snapshots of the recent past.
#[derive(Default)]
pub(super) struct Lag {
    snapshots: Mutex<VecDeque<Snapshot>>,
    /// The oldest that a read can need.
    age_max: Duration,
}

struct Snapshot {
    taken: Time,
    view: Arc<dyn Read>,
}

impl Lag {
    pub(super) fn new(age_max: Duration) -> Lag {
        Lag { snapshots: Mutex::default(), age_max }
    }

    /// Keeps the state before a write.
    pub(super) async fn before_write(&self, store: &dyn Store, now: Time) -> Result<(), Error> {
        if self.age_max.is_zero() || self.is_recent(now) {
            return Ok(());
        }
        let view = store.snapshot().await?;
        let mut snapshots = self.lock();
        let oldest = self.past(now, self.age_max);
        while snapshots.front().is_some_and(|snapshot| snapshot.taken < oldest) {
            snapshots.pop_front();
        }
        if snapshots.back().is_none_or(|last| last.taken < now) {
            snapshots.push_back(Snapshot { taken: now, view });
        }
        Ok(())
    }

    /// Returns the state some time ago; none if it is the present one.
    pub(super) fn view(&self, now: Time, ago: Duration) -> Option<Arc<dyn Read>> {
        let since = self.past(now, ago);
        let snapshots = self.lock();
        let first = snapshots.partition_point(|snapshot| snapshot.taken < since);
        snapshots.get(first).filter(|_| !ago.is_zero()).map(|snapshot| snapshot.view.clone())
    }

    fn is_recent(&self, now: Time) -> bool {
        let recent = self.past(now, GRAIN);
        self.lock().back().is_some_and(|last| last.taken > recent)
    }

    fn past(&self, now: Time, ago: Duration) -> Time {
        let ago_ms = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
        Time(now.0.saturating_sub(ago_ms))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Snapshot>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
