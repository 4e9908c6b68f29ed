//! The operations of a history, and the specification that they are checked against.

use std::fmt;
use std::hash::Hash;

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
/// Times are those of one logical clock, such as a [`Recorder`](super::Recorder)'s. An operation that returned
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
