//! Records the calls and replies of many threads, with one clock.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::operation::{Model, Operation};

/// A history being recorded; shared by the threads of a test.
///
/// ```
/// use keyloom_testkit::linearizable::{Model, Recorder, check};
///
/// struct Counter;
/// #[derive(Clone, Debug)]
/// struct Increment;
///
/// impl Model for Counter {
///     type State = u64;
///     type Call = Increment;
///     type Reply = u64;
///
///     fn initial() -> u64 {
///         0
///     }
///
///     fn step(state: &u64, _: &Increment, reply: Option<&u64>) -> Option<u64> {
///         reply.is_none_or(|reply| *reply == state + 1).then_some(state + 1)
///     }
/// }
///
/// let recorder = Recorder::<Counter>::new();
/// let ticket = recorder.invoke(1, Increment);
/// recorder.reply(ticket, 1);
/// recorder.invoke(2, Increment); // The reply is lost in a crash.
/// recorder.settle();
/// let ticket = recorder.invoke(1, Increment);
/// recorder.reply(ticket, 3); // The lost one took effect.
/// check(&recorder.history()).unwrap();
/// ```
pub struct Recorder<M: Model> {
    clock: AtomicU64,
    operations: Mutex<Vec<Operation<M>>>,
}

/// A recorded call without a reply yet. If it is dropped, the reply stays unknown.
#[derive(Debug)]
pub struct Ticket(usize);

impl<M: Model> Recorder<M> {
    /// Creates an empty history.
    pub fn new() -> Recorder<M> {
        Recorder { clock: AtomicU64::new(0), operations: Mutex::new(Vec::new()) }
    }

    /// Records that a client is about to call. Call this before the call.
    pub fn invoke(&self, client: usize, call: M::Call) -> Ticket {
        let invoked = self.tick();
        let mut operations = self.operations();
        operations.push(Operation { client, call, reply: None, invoked, returned: None });
        Ticket(operations.len() - 1)
    }

    /// Records the reply. Call this after the call, and not at all if the reply does not say
    /// whether the call took effect.
    pub fn reply(&self, ticket: Ticket, reply: M::Reply) {
        let returned = self.tick();
        let mut operations = self.operations();
        let operation = &mut operations[ticket.0];
        assert!(operation.returned.is_none(), "{operation:?} was settled before its reply came");
        operation.reply = Some(reply);
        operation.returned = Some(returned);
    }

    /// Records that every call without a reply took effect before now or never will, as after a
    /// crash and restart. No call may be in progress.
    pub fn settle(&self) {
        let now = self.tick();
        for operation in self.operations().iter_mut() {
            operation.returned.get_or_insert(now);
        }
    }

    /// Returns what was recorded so far, in the order of recording.
    pub fn history(&self) -> Vec<Operation<M>>
    where
        M::Call: Clone,
        M::Reply: Clone,
    {
        self.operations().clone()
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn operations(&self) -> MutexGuard<'_, Vec<Operation<M>>> {
        self.operations.lock().expect("no thread panics while it records")
    }
}

impl<M: Model> Default for Recorder<M> {
    fn default() -> Recorder<M> {
        Recorder::new()
    }
}

impl<M: Model> fmt::Debug for Recorder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.operations().iter()).finish()
    }
}
