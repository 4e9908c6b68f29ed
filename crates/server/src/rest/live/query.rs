//! A query that somebody follows. Clients that follow the same one share it: it runs once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;

use super::super::problem::Problem;
use super::frame;
use super::seen::Seen;

/// How many results are kept for clients that reconnect.
const KEPT: usize = 16;

/// A query that is followed.
#[derive(Debug)]
pub(super) struct LiveQuery {
    pub(super) shown: watch::Sender<Shown>,
    kept: Mutex<VecDeque<Arc<Seen>>>,
    /// The last difference that was computed: most clients need the same one.
    difference: Mutex<Option<Difference>>,
}

/// The state of a query.
#[derive(Clone, Debug, Default)]
pub(super) enum Shown {
    /// It has not run yet.
    #[default]
    Nothing,
    Seen(Arc<Seen>),
    /// It cannot go on.
    Failed(Arc<Problem>),
    /// The model that it is a query of is not served any more. Clients connect again.
    Over,
}

#[derive(Debug)]
struct Difference {
    old: Arc<Seen>,
    new: Arc<Seen>,
    events: Bytes,
}

impl LiveQuery {
    pub(super) fn new() -> LiveQuery {
        let (shown, kept) = (watch::Sender::default(), Mutex::default());
        LiveQuery { shown, kept, difference: Mutex::default() }
    }

    /// What it returned last.
    pub(super) fn last(&self) -> Option<Arc<Seen>> {
        lock(&self.kept).back().cloned()
    }

    /// The result that an id is of, if it is kept. That of an equal result will do, whenever it was.
    pub(super) fn with_id(&self, id: &str) -> Option<Arc<Seen>> {
        lock(&self.kept).iter().rev().find(|seen| seen.is_shown_by(id)).cloned()
    }

    /// Shows a result to everybody, if it differs from the last one.
    pub(super) fn show(&self, seen: Seen) {
        if self.last().is_some_and(|last| last.shows_same(&seen)) {
            return;
        }
        let seen = Arc::new(seen);
        let mut kept = lock(&self.kept);
        kept.push_back(seen.clone());
        if kept.len() > KEPT {
            kept.pop_front();
        }
        drop(kept);
        self.shown.send_replace(Shown::Seen(seen));
    }

    /// The events from one result to another.
    pub(super) fn difference(&self, old: &Arc<Seen>, new: &Arc<Seen>) -> Bytes {
        let is_same =
            |known: &&Difference| Arc::ptr_eq(&known.old, old) && Arc::ptr_eq(&known.new, new);
        if let Some(known) = lock(&self.difference).as_ref().filter(is_same) {
            return known.events.clone();
        }
        let events = Bytes::from(frame::difference(old, new));
        let (old, new) = (old.clone(), new.clone());
        *lock(&self.difference) = Some(Difference { old, new, events: events.clone() });
        events
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
