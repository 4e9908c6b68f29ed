//! Time in a sample: it passes when the sample says so, and when something waits.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyloom_store::{Clock, Time};

/// The start of 2026: fixed, so that plans repeat.
const START_US: u64 = 1_767_225_600_000_000;

/// A clock that jumps over every wait. Clones share one time.
#[derive(Clone, Debug)]
pub(super) struct SampleClock(Arc<AtomicU64>);

impl SampleClock {
    pub(super) fn new() -> SampleClock {
        SampleClock(Arc::new(AtomicU64::new(START_US)))
    }

    pub(super) fn pass(&self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.0.fetch_add(us, Ordering::Relaxed);
    }

    /// How long the sample has run.
    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed) - START_US)
    }
}

impl Clock for SampleClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::Relaxed) / 1000)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.pass(duration);
        Box::pin(std::future::ready(()))
    }
}
