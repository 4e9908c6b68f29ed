//! A clock that moves only when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_store::{Clock, Time};

/// A clock that moves only when it is told to. Clones are one clock.
#[derive(Clone, Debug)]
pub struct ManualClock {
    now_ms: Arc<AtomicU64>,
}

impl ManualClock {
    /// Some time in November 2023, where every new clock starts.
    pub const START: Time = Time(1_700_000_000_000);

    /// A clock at [`ManualClock::START`].
    pub fn new() -> ManualClock {
        ManualClock { now_ms: Arc::new(AtomicU64::new(ManualClock::START.0)) }
    }

    /// Makes it this time.
    pub fn set(&self, now: Time) {
        self.now_ms.store(now.0, Ordering::SeqCst);
    }

    /// Lets time pass.
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
