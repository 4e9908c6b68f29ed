//! The signal that stops background work.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Signals background work to stop.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(crate) fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for the timeout or the signal; returns whether to stop.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.changed.wait_timeout_while(stopped, timeout, |stopped| !*stopped);
        *wait.unwrap_or_else(PoisonError::into_inner).0
    }
}
