//! The deletions that this process is running. A call owns its deletion as long as it lasts; when the
//! call is dropped, the background runner continues or cancels the deletion.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The deletions that calls of this process are running.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    /// The number of calls that run each deletion.
    at: HashMap<String, usize>,
    /// Whether a call has ended since the last check, completed or not.
    has_ended: bool,
}

/// A call runs a deletion until this is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    running: Running,
    deletion: String,
    /// Whether the background runner must check the deletion afterwards.
    is_looked_at: bool,
}

impl Running {
    pub(crate) fn begin(&self, deletion: &str) -> Hold {
        self.hold(deletion, true)
    }

    /// The same for the background runner, which must not check again what it cannot complete.
    pub(crate) fn resume(&self, deletion: &str) -> Hold {
        self.hold(deletion, false)
    }

    fn hold(&self, deletion: &str, is_looked_at: bool) -> Hold {
        self.with(|calls| *calls.at.entry(deletion.to_owned()).or_default() += 1);
        Hold { running: self.clone(), deletion: deletion.to_owned(), is_looked_at }
    }

    pub(crate) fn has(&self, deletion: &str) -> bool {
        self.with(|calls| calls.at.contains_key(deletion))
    }

    /// Whether a call may have left a deletion incomplete since the last check.
    pub(crate) fn was_left(&self) -> bool {
        self.with(|calls| std::mem::take(&mut calls.has_ended))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Calls) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.running.with(|calls| {
            let Some(count) = calls.at.get_mut(&self.deletion) else { return };
            *count -= 1;
            // Other calls still run it.
            if *count == 0 {
                calls.at.remove(&self.deletion);
                calls.has_ended |= self.is_looked_at;
            }
        });
    }
}
