//! A bounded pool of threads on which long computations take turns, the one with the least time first.
//!
//! `Pool::run` polls a future where it is awaited, for a first slice: what is short never leaves its
//! thread. What is longer goes on in the pool, slice by slice, so that it holds up neither the threads
//! that accept and answer nor what comes after it. Futures stop at yield points
//! (`keyloom_store::yield_point`); between two of them nothing can stop them.

mod pool;
mod queue;
mod task;
mod turn;

#[cfg(test)]
mod tests;

pub(crate) use pool::{Pool, Weight};
