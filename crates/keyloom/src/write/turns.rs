//! Writers of one process take turns at rows that many of them touch: counters, and the rows by which
//! targets of references are checked. On a shared store, two transactions in flight that touch the same
//! row conflict, and one of them is sent again. Transactions that wait here do not: a crowd in one
//! process is as fast as one writer after the other. Those of other processes still conflict.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::{Either, select};
use keyloom_store::Clock;

use crate::error::Error;

/// Rows share queues; with so many, few rows that are written at the same time do.
const QUEUES: u64 = 8192;
/// Transactions with more keys, such as those of an import, do not wait: they would hold up each other at
/// keys that they do not share.
const KEYS_MAX: usize = 16;
/// How long a writer waits for its turns, and how often it looks at the time meanwhile.
const WAIT_MAX_MS: u64 = 10_000;
const LOOK: Duration = Duration::from_millis(100);

/// The queues of a process.
#[derive(Debug)]
pub(crate) struct Turns(Vec<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    is_taken: bool,
    waiting: VecDeque<Arc<Ticket>>,
}

/// A writer that waits.
#[derive(Debug, Default)]
struct Ticket(Mutex<TicketState>);

#[derive(Debug, Default)]
struct TicketState {
    is_called: bool,
    waker: Option<Waker>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'t>(&'t Mutex<Queue>);

impl Default for Turns {
    fn default() -> Turns {
        Turns((0..QUEUES).map(|_| Mutex::default()).collect())
    }
}

impl Turns {
    /// Waits until it is the turn of a writer at all of these keys.
    ///
    /// # Errors
    ///
    /// [`Error::Contended`] if that takes too long.
    pub(crate) async fn take<'t>(
        &'t self,
        keys: &[Vec<u8>],
        clock: &dyn Clock,
    ) -> Result<Vec<Turn<'t>>, Error> {
        // In one order for everybody, so that no two wait for each other.
        let queues: BTreeSet<u64> = keys.iter().map(|key| hash(key) % QUEUES).collect();
        let mut turns = Vec::with_capacity(queues.len());
        let until_ms = clock.now().0.saturating_add(WAIT_MAX_MS);
        for queue in queues.into_iter().filter(|_| keys.len() <= KEYS_MAX) {
            let Some(queue) = usize::try_from(queue).ok().and_then(|at| self.0.get(at)) else {
                continue;
            };
            turns.push(wait_for(queue, clock, until_ms).await?);
        }
        Ok(turns)
    }
}

fn hash(key: &Vec<u8>) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

async fn wait_for<'t>(
    queue: &'t Mutex<Queue>,
    clock: &dyn Clock,
    until_ms: u64,
) -> Result<Turn<'t>, Error> {
    if !std::mem::replace(&mut lock(queue).is_taken, true) {
        return Ok(Turn(queue));
    }
    let mut waiting = Waiting::new(queue);
    while clock.now().0 < until_ms {
        if let Either::Left((turn, _)) = select(&mut waiting, clock.sleep(LOOK)).await {
            return Ok(turn);
        }
    }
    Err(Error::Contended)
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(self.0).call_next();
    }
}

impl Queue {
    fn call_next(&mut self) {
        match self.waiting.pop_front() {
            None => self.is_taken = false,
            Some(ticket) => {
                let mut state = lock(&ticket.0);
                state.is_called = true;
                if let Some(waker) = state.waker.take() {
                    waker.wake();
                }
            }
        }
    }
}

/// The future of a turn, first come, first served.
struct Waiting<'t> {
    queue: &'t Mutex<Queue>,
    /// None once the turn was taken.
    ticket: Option<Arc<Ticket>>,
}

impl<'t> Waiting<'t> {
    fn new(queue: &'t Mutex<Queue>) -> Waiting<'t> {
        let ticket = Arc::new(Ticket::default());
        let mut state = lock(queue);
        match std::mem::replace(&mut state.is_taken, true) {
            true => state.waiting.push_back(ticket.clone()),
            false => lock(&ticket.0).is_called = true,
        }
        Waiting { queue, ticket: Some(ticket) }
    }
}

impl<'t> Future for Waiting<'t> {
    type Output = Turn<'t>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Turn<'t>> {
        if let Some(ticket) = &self.ticket {
            let mut state = lock(&ticket.0);
            if !state.is_called {
                state.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
        self.ticket = None;
        Poll::Ready(Turn(self.queue))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        let mut queue = lock(self.queue);
        queue.waiting.retain(|waiting| !Arc::ptr_eq(waiting, &ticket));
        // It was called and did not come.
        if lock(&ticket.0).is_called {
            queue.call_next();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use keyloom_testkit::pausing::go_on;
    use keyloom_testkit::{ManualClock, Random};

    use super::*;

    type Taking<'t> = Pin<Box<dyn Future<Output = Result<Vec<Turn<'t>>, Error>> + 't>>;

    /// Writers come, wait, leave and give up in any order: no key is held twice, and at the end
    /// nothing is.
    #[test]
    fn no_two_writers_have_a_turn_at_one_key_and_all_get_one() {
        for seed in 0..200 {
            let (turns, clock, mut random) =
                (Turns::default(), ManualClock::new(), Random::new(seed));
            let keys = ["a", "b", "c"].map(|key| key.as_bytes().to_vec());
            let mut waiting: Vec<(Vec<usize>, Taking<'_>)> = vec![];
            let mut holding: Vec<(Vec<usize>, Vec<Turn<'_>>)> = vec![];
            for step in 0..200 {
                match random.below(4) {
                    0 if step < 150 => {
                        let some: Vec<usize> = (0..3).filter(|_| random.chance(1, 2)).collect();
                        let wanted: Vec<Vec<u8>> =
                            some.iter().map(|at| keys[*at].clone()).collect();
                        let (turns, clock) = (&turns, &clock);
                        let take = async move { turns.take(&wanted, clock).await };
                        waiting.push((some, Box::pin(take)));
                    }
                    1 if !holding.is_empty() => {
                        drop(holding.swap_remove(random.index(holding.len())));
                    }
                    2 if !waiting.is_empty() && random.chance(1, 6) => {
                        drop(waiting.swap_remove(random.index(waiting.len())));
                    }
                    _ if !waiting.is_empty() => {
                        let at = random.index(waiting.len());
                        if let Some(Ok(turn)) = go_on(waiting[at].1.as_mut()) {
                            let (some, _) = waiting.swap_remove(at);
                            for (others, _) in &holding {
                                let is_shared = some.iter().any(|key| others.contains(key));
                                assert!(!is_shared, "seed {seed}: {some:?} and {others:?}");
                            }
                            holding.push((some, turn));
                        }
                    }
                    _ => {}
                }
            }
            for _ in 0..1_000 {
                holding.clear();
                waiting.retain_mut(|(_, take)| go_on(take.as_mut()).is_none());
            }
            assert!(waiting.is_empty(), "seed {seed}: somebody waits for ever");
            assert!(turns.0.iter().all(|queue| !lock(queue).is_taken), "seed {seed}");
        }
    }
}
