//! A bounded pool of threads on which long computations take turns, the one that has run least first.
//!
//! `Pool::run` polls a future where it is awaited for a first slice, so short ones never leave their
//! thread. Longer ones continue in the pool, slice by slice, and block neither the threads that accept
//! and answer requests nor later requests. Futures stop only at yield points
//! (`keyloom_store::yield_point`).

mod pool;
mod queue;
mod run_queue;
mod task;
mod turn;

#[cfg(test)]
mod tests;

pub(crate) use pool::{Pool, Weight};
