//! Parts of the log that running work needs beyond their retention.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::format::CommitNo;

/// The active pins. A pin is best effort: it lapses when the log would become too large.
#[derive(Debug, Default)]
pub(crate) struct LogPins {
    pins: Mutex<BTreeMap<u64, Arc<Pinned>>>,
    made: AtomicU64,
}

#[derive(Debug)]
struct Pinned {
    /// The log after this commit is needed.
    after: AtomicU64,
    has_lapsed: AtomicBool,
}

/// Retains a part of the log while it lives, unless it lapses.
#[derive(Debug)]
pub(crate) struct LogPin<'a> {
    pins: &'a LogPins,
    number: u64,
    pinned: Arc<Pinned>,
}

impl LogPins {
    /// Retains the log after a commit.
    pub(crate) fn pin(&self, after: CommitNo) -> LogPin<'_> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let pinned =
            Arc::new(Pinned { after: AtomicU64::new(after.0), has_lapsed: AtomicBool::new(false) });
        self.lock().insert(number, Arc::clone(&pinned));
        LogPin { pins: self, number, pinned }
    }

    /// Returns the commit after which the log is needed.
    pub(crate) fn needed_from(&self) -> CommitNo {
        let pins = self.lock();
        let oldest = pins.values().map(|pin| pin.after.load(Ordering::Acquire)).min();
        CommitNo(oldest.unwrap_or(u64::MAX))
    }

    /// Ends all pins.
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
    /// Releases the log up to a later commit.
    pub(crate) fn advance(&self, after: CommitNo) {
        self.pinned.after.fetch_max(after.0, Ordering::AcqRel);
    }

    /// Whether the pinned log may have been trimmed nevertheless.
    pub(crate) fn has_lapsed(&self) -> bool {
        self.pinned.has_lapsed.load(Ordering::Acquire)
    }
}

impl Drop for LogPin<'_> {
    fn drop(&mut self) {
        self.pins.lock().remove(&self.number);
    }
}
