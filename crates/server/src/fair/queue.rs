//! Who is next: the one that has had the least time.
//!
//! Alone, that would let a stream of newcomers keep out whoever has had more. So one turn in
//! [`TURNS_BY_AGE`] goes to the one that has waited the longest, and nobody waits for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// One turn in so many goes by how long one has waited.
const TURNS_BY_AGE: u64 = 8;

/// Those that wait for a turn. Entering and leaving cost O(log n).
#[derive(Debug)]
pub(super) struct Queue<T> {
    /// By when they came; tickets are never reused.
    waiting: BTreeMap<Ticket, (Duration, T)>,
    /// By how much time they have had; of two that have had the same, the first that came.
    by_time: BTreeSet<(Duration, Ticket)>,
    next_ticket: u64,
    turns: u64,
}

/// A place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

impl<T> Queue<T> {
    pub(super) fn new() -> Queue<T> {
        Queue { waiting: BTreeMap::new(), by_time: BTreeSet::new(), next_ticket: 0, turns: 0 }
    }

    /// Waits for a turn, having had so much time.
    pub(super) fn push(&mut self, used: Duration, task: T) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.waiting.insert(ticket, (used, task));
        self.by_time.insert((used, ticket));
        ticket
    }

    /// Whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.turns += 1;
        let ticket = match self.turns % TURNS_BY_AGE {
            0 => *self.waiting.first_key_value()?.0,
            _ => self.by_time.first()?.1,
        };
        self.remove(ticket)
    }

    /// Waits no longer. None if it had its turn.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let (used, task) = self.waiting.remove(&ticket)?;
        self.by_time.remove(&(used, ticket));
        debug_assert_eq!(self.waiting.len(), self.by_time.len(), "each is in both");
        Some(task)
    }

    /// Nobody waits any more.
    pub(super) fn clear(&mut self) -> Vec<T> {
        self.by_time.clear();
        std::mem::take(&mut self.waiting).into_values().map(|(_, task)| task).collect()
    }
}
