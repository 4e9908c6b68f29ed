//! A clock that moves only when a test moves it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyloom_store::{Clock, Time};

use crate::pausing::Pause;

/// A clock that moves only when a test moves it. Clones share one time. Sleeping yields once and
/// returns without moving the clock, so that tests neither wait nor depend on who sleeps first.
#[derive(Clone, Debug)]
pub struct ManualClock {
    now_ms: Arc<AtomicU64>,
    slept_us: Arc<AtomicU64>,
}

impl ManualClock {
    /// The initial time, in November 2023.
    pub const START: Time = Time(1_700_000_000_000);

    /// Creates a clock at [`ManualClock::START`].
    pub fn new() -> ManualClock {
        let now_ms = Arc::new(AtomicU64::new(ManualClock::START.0));
        ManualClock { now_ms, slept_us: Arc::default() }
    }

    /// The total time that callers have asked to sleep.
    pub fn slept(&self) -> Duration {
        Duration::from_micros(self.slept_us.load(Ordering::SeqCst))
    }

    /// Sets the time.
    pub fn set(&self, now: Time) {
        self.now_ms.store(now.0, Ordering::SeqCst);
    }

    /// Advances the time.
    pub fn advance_ms(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> ManualClock {
        ManualClock::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(self.now_ms.load(Ordering::SeqCst))
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.slept_us.fetch_add(us, Ordering::SeqCst);
        Box::pin(Pause::default())
    }
}
