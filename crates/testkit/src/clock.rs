//! A clock that only moves when a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_store::{Clock, Time};

/// A clock that only moves when a test moves it. Clones share the time.
#[derive(Clone, Debug)]
pub struct ManualClock {
    now_ms: Arc<AtomicU64>,
}

impl ManualClock {
    /// The initial time, in November 2023.
    pub const START: Time = Time(1_700_000_000_000);

    /// Creates a clock at [`ManualClock::START`].
    pub fn new() -> ManualClock {
        ManualClock { now_ms: Arc::new(AtomicU64::new(ManualClock::START.0)) }
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
}
