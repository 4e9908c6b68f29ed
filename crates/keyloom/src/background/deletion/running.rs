//! Which deletions this process is at. Whoever begins one owns it as long as its call lasts; when
//! the call is dropped, nobody does, and the background runner goes on with it or calls it off.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The deletions that calls of this process are at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    /// How many are at each deletion.
    at: HashMap<String, usize>,
    /// Whether one has ended since somebody asked, wherever it was.
    has_ended: bool,
}

/// A call is at a deletion until this is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    running: Running,
    deletion: String,
    /// Whether somebody has to look at the deletion when nobody is at it any more.
    is_looked_at: bool,
}

impl Running {
    pub(crate) fn begin(&self, deletion: &str) -> Hold {
        self.hold(deletion, true)
    }

    /// The same for whoever looks at what calls have left: what it cannot end, it need not look at
    /// again and again.
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

    /// Whether a call may have left a deletion before its end since this was asked last.
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
            // Whoever is still at it looks after it.
            if *count == 0 {
                calls.at.remove(&self.deletion);
                calls.has_ended |= self.is_looked_at;
            }
        });
    }
}
