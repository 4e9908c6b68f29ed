//! Random histories: operations of every kind on a few tables and values, so that equal keys and
//! refusals are common, played on two stores that must give the same answers.

mod compare;
mod expression;
mod laws;
mod op;
mod outcome;
mod player;
mod strategy;
mod world;

pub use compare::{compare, play};
pub use op::{Op, ReadOp};
pub use outcome::{Outcome, Seen};
pub use player::Player;
pub use strategy::{history, without_sets};
