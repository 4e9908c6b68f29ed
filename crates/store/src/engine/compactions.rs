//! The record of compactions while a store is open: how many there were, and when the next one may
//! start automatically.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Error, Time};

/// Pause after a failure before an automatic compaction: initially, and at most.
const PAUSE_MILLIS_MIN: u64 = 60_000;
const PAUSE_MILLIS_MAX: u64 = 3_600_000;

/// The progress of a compaction, or its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Size of the tree's file before.
    pub before_bytes: u64,
    /// Approximate size of its rows without free space. The disk must have that much free, and some
    /// more.
    pub needed_bytes: u64,
    /// How many of these bytes are copied.
    pub copied_bytes: u64,
    /// Rows copied.
    pub rows: u64,
    /// Size of the tree's file now.
    pub after_bytes: u64,
}

/// Receives the progress of a compaction, and decides whether it continues.
pub(crate) type OnCompaction<'a> = &'a mut dyn FnMut(Compaction) -> ControlFlow<()>;

/// The state of compactions while a store is open.
#[derive(Debug, Default)]
pub(crate) struct Compactions {
    /// Held by the running one.
    running: Mutex<()>,
    pause: Mutex<Pause>,
    done: AtomicU64,
    failed: AtomicU64,
}

/// When the next automatic one may start.
#[derive(Debug)]
struct Pause {
    until: Time,
    millis: u64,
}

impl Default for Pause {
    fn default() -> Pause {
        Pause { until: Time(0), millis: PAUSE_MILLIS_MIN }
    }
}

impl Compactions {
    /// Waits until no other compaction runs.
    pub(super) fn start(&self) -> MutexGuard<'_, ()> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many succeeded, and how many failed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    pub(super) fn may_start(&self, now: Time) -> bool {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner).until <= now
    }

    /// Counts a compaction. One that freed little is treated like a failure: the next would do no
    /// better.
    pub(super) fn note(&self, outcome: &Result<Compaction, Error>, now: Time) {
        let counter = if outcome.is_ok() { &self.done } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        *pause = match outcome {
            Ok(done) if done.after_bytes <= done.before_bytes / 4 * 3 => Pause::default(),
            Ok(_) | Err(_) => Pause {
                until: Time(now.0.saturating_add(pause.millis)),
                millis: (2 * pause.millis).min(PAUSE_MILLIS_MAX),
            },
        };
    }
}
