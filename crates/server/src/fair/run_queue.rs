//! The queue that the threads of a pool take their tasks from, until it is closed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::queue::{Queue, Ticket};

/// A queue that threads can wait on.
pub(super) struct RunQueue<T> {
    state: Mutex<State<T>>,
    /// Notified when a task is queued, and when the queue is closed.
    is_changed: Condvar,
}

struct State<T> {
    queue: Queue<T>,
    is_open: bool,
}

impl<T> RunQueue<T> {
    pub(super) fn new() -> RunQueue<T> {
        let state = State { queue: Queue::new(), is_open: true };
        RunQueue { state: Mutex::new(state), is_changed: Condvar::new() }
    }

    /// Waits for the next task. Returns `None` once the queue is closed.
    pub(super) fn next(&self) -> Option<T> {
        let mut state = self.state();
        loop {
            if !state.is_open {
                return None;
            }
            if let Some(task) = state.queue.pop() {
                return Some(task);
            }
            state = self.is_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queues a task that has run for `used` so far. Returns `None` if the queue is closed.
    pub(super) fn push(&self, used: Duration, task: T) -> Option<Ticket> {
        let mut state = self.state();
        if !state.is_open {
            return None;
        }
        let ticket = state.queue.push(used, task);
        drop(state);
        self.is_changed.notify_one();
        Some(ticket)
    }

    /// Removes a task, if it is still queued.
    pub(super) fn remove(&self, ticket: Ticket) {
        let task = self.state().queue.remove(ticket);
        // Dropped without the lock: a task's destructor may do anything.
        drop(task);
    }

    /// Closes the queue and returns the tasks that were waiting.
    pub(super) fn close(&self) -> Vec<T> {
        let mut state = self.state();
        state.is_open = false;
        self.is_changed.notify_all();
        state.queue.clear()
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Nothing panics while the lock is held, and the queue would be consistent if it did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
