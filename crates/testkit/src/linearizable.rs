//! A linearizability checker: is there an order of these calls that explains every reply? The
//! algorithm is Wing and Gong's, with Lowe's cache of visited configurations, as in Porcupine, and
//! with calls whose reply is lost. It knows nothing about stores: a model says which replies are
//! correct.

mod recorder;
mod search;
#[cfg(test)]
mod tests;
mod timeline;
mod violation;
mod visited;

use std::fmt;
use std::hash::Hash;

pub use recorder::{Recorder, Ticket};
pub use violation::Violation;

/// A sequential specification: what calls do and which replies are correct.
///
/// Implementors MUST be deterministic, and SHOULD keep the state small, because it is cloned at
/// every step: if calls touch one key, check each key separately.
pub trait Model {
    /// The state of the object.
    type State: Clone + Eq + Hash + fmt::Debug;
    /// The calls.
    type Call: fmt::Debug;
    /// The replies.
    type Reply: fmt::Debug;

    /// Returns the state before the first call.
    fn initial() -> Self::State;

    /// Returns the state after the call, if the reply is correct in this state. Without a reply,
    /// any would be correct: returns the state after the call took effect.
    fn step(
        state: &Self::State,
        call: &Self::Call,
        reply: Option<&Self::Reply>,
    ) -> Option<Self::State>;
}

/// A call and its outcome.
///
/// Times are those of one logical clock, such as a [`Recorder`]'s. An operation that returned
/// before another was invoked precedes it; at equal times they overlap.
pub struct Operation<M: Model> {
    /// The client; only for display.
    pub client: usize,
    /// The call.
    pub call: M::Call,
    /// The reply; `None` if unknown: then the call took effect once or never.
    pub reply: Option<M::Reply>,
    /// The time of the invocation.
    pub invoked: u64,
    /// The time of the return: the call took effect before, if at all. `None` if it may still take
    /// effect at any later time, which only a call without a reply can.
    pub returned: Option<u64>,
}

impl<M: Model> Clone for Operation<M>
where
    M::Call: Clone,
    M::Reply: Clone,
{
    fn clone(&self) -> Operation<M> {
        Operation {
            client: self.client,
            call: self.call.clone(),
            reply: self.reply.clone(),
            invoked: self.invoked,
            returned: self.returned,
        }
    }
}

impl<M: Model> fmt::Debug for Operation<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {} [{}, ", self.client, self.invoked)?;
        match self.returned {
            Some(returned) => write!(f, "{returned}] ")?,
            None => write!(f, "…) ")?,
        }
        match &self.reply {
            Some(reply) => write!(f, "{:?} -> {reply:?}", self.call),
            None => write!(f, "{:?} -> unknown", self.call),
        }
    }
}

/// Checks whether there is an order of the operations, in which each takes effect between its
/// invocation and its return, that makes every reply correct. Operations without a reply can be
/// left out.
///
/// Cost: linear in the history while few operations overlap, exponential in the number that do.
/// Operations that never return overlap with everything after them: use [`Recorder::settle`] to end
/// them at a crash. Sets of operations are compared by 128-bit hashes.
pub fn check<M: Model>(history: &[Operation<M>]) -> Result<(), Violation> {
    for operation in history {
        let answered = operation.reply.is_some();
        assert!(
            !answered || operation.returned.is_some(),
            "{operation:?} has a reply but no return"
        );
        let end = operation.returned.unwrap_or(u64::MAX);
        assert!(operation.invoked <= end, "{operation:?} returned before it was invoked");
    }
    search::search(history)
}
