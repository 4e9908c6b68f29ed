//! The order of turns: the task that has run for the least time is next.
//!
//! Alone, that would let a stream of new tasks starve older ones. So one turn in [`TURNS_BY_AGE`] goes
//! to the task that has waited the longest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// One turn in this many goes to the task that has waited the longest.
const TURNS_BY_AGE: u64 = 8;

/// Tasks that wait for a turn. Adding and removing cost O(log n).
#[derive(Debug)]
pub(super) struct Queue<T> {
    /// In order of arrival; tickets are never reused.
    waiting: BTreeMap<Ticket, (Duration, T)>,
    /// By the time they have run, then in order of arrival.
    by_time: BTreeSet<(Duration, Ticket)>,
    next_ticket: u64,
    turns: u64,
}

/// Identifies a queued task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

impl<T> Queue<T> {
    pub(super) fn new() -> Queue<T> {
        Queue { waiting: BTreeMap::new(), by_time: BTreeSet::new(), next_ticket: 0, turns: 0 }
    }

    /// Adds a task that has run for `used` so far.
    pub(super) fn push(&mut self, used: Duration, task: T) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.waiting.insert(ticket, (used, task));
        self.by_time.insert((used, ticket));
        ticket
    }

    /// Removes the task whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.turns += 1;
        let ticket = match self.turns % TURNS_BY_AGE {
            0 => *self.waiting.first_key_value()?.0,
            _ => self.by_time.first()?.1,
        };
        self.remove(ticket)
    }

    /// Removes a task. Returns `None` if it is not queued any more.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let (used, task) = self.waiting.remove(&ticket)?;
        self.by_time.remove(&(used, ticket));
        debug_assert_eq!(self.waiting.len(), self.by_time.len(), "each is in both");
        Some(task)
    }

    /// Removes all tasks.
    pub(super) fn clear(&mut self) -> Vec<T> {
        self.by_time.clear();
        std::mem::take(&mut self.waiting).into_values().map(|(_, task)| task).collect()
    }
}
