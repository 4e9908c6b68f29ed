//! Reads that lag: global indexes, and replicas of the table.
//!
//! Before a write, at most [`SNAPSHOTS_MAX`] times within the longest lag, a snapshot of the store is taken. A read that lags by
//! some time reads the first snapshot since then, so it misses what was written after it; if there
//! is none, nothing was written since and the store itself is the answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyloom_store::{Error, Read, Store, Time};

/// How many snapshots are kept, about.
const SNAPSHOTS_MAX: u32 = 40;

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
        let mut snapshots = self.recent(now);
        if snapshots.back().is_none_or(|last| last.taken < now) {
            snapshots.push_back(Snapshot { taken: now, view });
        }
        Ok(())
    }

    /// Returns the state some time ago, but not before `since`; none if it is the present one.
    pub(super) fn view(&self, now: Time, ago: Duration, since: Time) -> Option<Arc<dyn Read>> {
        let since = self.past(now, ago).max(since);
        let snapshots = self.recent(now);
        let first = snapshots.partition_point(|snapshot| snapshot.taken < since);
        snapshots.get(first).filter(|_| !ago.is_zero()).map(|snapshot| snapshot.view.clone())
    }

    fn is_recent(&self, now: Time) -> bool {
        let recent = self.past(now, self.age_max / SNAPSHOTS_MAX);
        self.recent(now).back().is_some_and(|last| last.taken > recent)
    }

    fn past(&self, now: Time, ago: Duration) -> Time {
        let ago_ms = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
        Time(now.0.saturating_sub(ago_ms))
    }

    /// Returns the snapshots that a read can need, without those that are too old, or in the future
    /// because the clock was set back.
    fn recent(&self, now: Time) -> MutexGuard<'_, VecDeque<Snapshot>> {
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = self.past(now, self.age_max);
        snapshots.retain(|snapshot| (oldest..=now).contains(&snapshot.taken));
        snapshots
    }
}
