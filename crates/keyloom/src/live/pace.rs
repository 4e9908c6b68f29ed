//! When the feed is read: as soon as the store says that something has changed, or, if it cannot say
//! that, at intervals.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::feed::only_seq;
use crate::db::Shared;
use crate::error::Error;
use crate::events::Position;

/// How often a feed is polled after a change. Each poll is a request for each shard, and a shard of
/// DynamoDB can be read five times a second.
const INTERVAL: Duration = Duration::from_millis(250);
/// How often it is polled when nothing has changed for a while.
const INTERVAL_MAX: Duration = Duration::from_secs(4);

#[derive(Debug, Default)]
pub(super) struct Pace {
    rest: Duration,
    /// How many writes this process had begun before the last read.
    writes: u64,
}

impl Pace {
    /// Waits until there may be changes after a position.
    pub(super) async fn wait(&mut self, shared: &Shared, position: &Position) -> Result<(), Error> {
        match told(shared, position) {
            Some(told) => Ok(told.await?),
            None => {
                self.rest(shared).await;
                Ok(())
            }
        }
    }

    /// Sleeps, but not long once this process has begun to write: the feed follows a little later.
    async fn rest(&mut self, shared: &Shared) {
        let mut slept = Duration::ZERO;
        while slept < self.rest {
            shared.clock.sleep(INTERVAL).await;
            slept += INTERVAL;
            if shared.writes.load(Ordering::Relaxed) != self.writes {
                self.rest = INTERVAL;
            }
        }
        self.writes = shared.writes.load(Ordering::Relaxed);
    }

    /// Decides how long to rest after a read.
    pub(super) fn note(&mut self, is_full: bool, has_changed: bool) {
        self.rest = match (is_full, has_changed) {
            (true, _) => Duration::ZERO,
            (false, true) => INTERVAL,
            (false, false) => (self.rest * 2).clamp(INTERVAL, INTERVAL_MAX),
        };
    }
}

/// Waits until there may be changes after a position.
pub(crate) async fn wait_for_changes(shared: &Shared, position: &Position) -> Result<(), Error> {
    match told(shared, position) {
        Some(told) => Ok(told.await?),
        None => {
            shared.clock.sleep(INTERVAL).await;
            Ok(())
        }
    }
}

/// Ready once the store says that there may be changes; none if it cannot say that.
fn told<'s>(shared: &'s Shared, position: &Position) -> Option<keyloom_store::Answer<'s, ()>> {
    only_seq(position).and_then(|seq| shared.store.when_changed(seq))
}
