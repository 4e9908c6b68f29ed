//! Is there an order of these calls that explains every reply? A linearizability checker after
//! Wing and Gong, with the memory of visited points that Lowe added, as in Porcupine, and with
//! calls whose reply is lost. It knows nothing of stores: a model says what a reply means.

mod memory;
mod recorder;
mod search;
#[cfg(test)]
mod tests;
mod timeline;
mod violation;

use std::fmt;
use std::hash::Hash;

pub use recorder::{Recorder, Ticket};
pub use violation::Violation;

/// What calls do and which replies are right, as one object that does one thing at a time.
///
/// Implementors MUST be deterministic, and SHOULD keep the state small, as it is cloned at every
/// step: check each key on its own where calls touch one key.
pub trait Model {
    /// What the object knows.
    type State: Clone + Eq + Hash + fmt::Debug;
    /// What can be asked of it.
    type Call: fmt::Debug;
    /// What it can answer.
    type Reply: fmt::Debug;

    /// The state before the first call.
    fn initial() -> Self::State;

    /// The state after the call, if the reply is right in this state. Without a reply any would be
    /// right: this is the state after the call took effect.
    fn step(
        state: &Self::State,
        call: &Self::Call,
        reply: Option<&Self::Reply>,
    ) -> Option<Self::State>;
}

/// A call, and what became of it.
///
/// Times are those of one logical clock, as a [`Recorder`] has it. An operation that returned
/// before another was invoked comes before it; at equal times they overlap.
pub struct Operation<M: Model> {
    /// Who called; only shown.
    pub client: usize,
    /// What was asked.
    pub call: M::Call,
    /// What was answered; none if that is not known, and then the call took effect once or never.
    pub reply: Option<M::Reply>,
    /// When it was asked.
    pub invoked: u64,
    /// When it was over: it took effect before, if at all. None if it may still take effect at any
    /// later time, which only a call without a reply can.
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

/// Whether some order of the operations, in which each takes effect between its invocation and its
/// return, makes every reply right. Operations without a reply may be left out.
///
/// Cost: linear in the history while few operations overlap, exponential in the number that do.
/// Operations that never return overlap with everything after them: let a
/// [`Recorder::settle`] end them where a crash did. Two sets of operations are told apart by 128
/// bits of hash.
pub fn check<M: Model>(history: &[Operation<M>]) -> Result<(), Violation> {
    for operation in history {
        let answered = operation.reply.is_some();
        assert!(!answered || operation.returned.is_some(), "{operation:?} has a reply and no end");
        let end = operation.returned.unwrap_or(u64::MAX);
        assert!(operation.invoked <= end, "{operation:?} returned before it was invoked");
    }
    search::search(history)
}
