//! A linearizability checker: is there an order of these calls that explains every reply? The
//! algorithm is Wing and Gong's, with Lowe's cache of visited configurations, as in Porcupine, and
//! with calls whose reply is lost. It knows nothing about stores: a model says which replies are
//! correct.

mod operation;
mod recorder;
mod search;
#[cfg(test)]
mod tests;
mod timeline;
mod violation;
mod visited;

pub use operation::{Model, Operation};
pub use recorder::{Recorder, Ticket};
pub use violation::Violation;

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
