//! What of the log is needed by work that is under way, although its time is over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::format::CommitNo;

/// The pins there are. A pin is a convenience for whoever has it: it gives way when the log would
/// become too large.
#[derive(Debug, Default)]
pub(crate) struct LogPins {
    pins: Mutex<BTreeMap<u64, Arc<Pinned>>>,
    made: AtomicU64,
}

#[derive(Debug)]
struct Pinned {
    /// What follows this commit is needed.
    after: AtomicU64,
    has_lapsed: AtomicBool,
}

/// Keeps a part of the log for as long as it lives, unless it lapses.
#[derive(Debug)]
pub(crate) struct LogPin<'a> {
    pins: &'a LogPins,
    number: u64,
    pinned: Arc<Pinned>,
}

impl LogPins {
    /// Keeps what follows a commit.
    pub(crate) fn pin(&self, after: CommitNo) -> LogPin<'_> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let pinned =
            Arc::new(Pinned { after: AtomicU64::new(after.0), has_lapsed: AtomicBool::new(false) });
        self.lock().insert(number, Arc::clone(&pinned));
        LogPin { pins: self, number, pinned }
    }

    /// The commit after which everything is needed.
    pub(crate) fn needed_from(&self) -> CommitNo {
        let pins = self.lock();
        let oldest = pins.values().map(|pin| pin.after.load(Ordering::Acquire)).min();
        CommitNo(oldest.unwrap_or(u64::MAX))
    }

    /// Lets everything go.
    pub(crate) fn lapse(&self) {
        for pinned in std::mem::take(&mut *self.lock()).into_values() {
            pinned.has_lapsed.store(true, Ordering::Release);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Pinned>>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogPin<'_> {
    /// Needs only what follows a later commit from now on.
    pub(crate) fn advance(&self, after: CommitNo) {
        self.pinned.after.fetch_max(after.0, Ordering::AcqRel);
    }

    /// Whether the log may have been trimmed all the same.
    pub(crate) fn has_lapsed(&self) -> bool {
        self.pinned.has_lapsed.load(Ordering::Acquire)
    }
}

impl Drop for LogPin<'_> {
    fn drop(&mut self) {
        self.pins.lock().remove(&self.number);
    }
}
