//! Finding whoever is on call.
//!
//! A search that is opened starts a hunt: the methods of its contact are used in their order, each
//! after its wait, until somebody answers, somebody calls it off, or nobody is left. [`hunt`] is
//! the hunt as a state machine; everything around it is what reads for it, writes what it says and
//! brings messages to people. The README tells how it is used.
//!
//! Everything is kept in the store: a program that is killed and started again goes on where it
//! was. Inside the store each step happens once; a message is sent at least once, with a key that
//! stays the same, and never for the first time after its search has ended.

mod application;
mod carry;
mod deliver;
mod demo;
mod ending;
mod front;
// A public module, so that `hunt::next` says what comes next.
pub mod hunt;
mod link;
mod message;
mod outside;
mod page;
mod reply;
mod routes;
mod rows;
mod service;
mod steps;
mod story;
mod template;
mod time;
mod timeline;

pub use application::application;
pub use carry::{Carried, Carry, Carrying, Message};
pub use demo::{demo, sample};
pub use ending::{Ending, NotEnded, end};
pub use rows::{Kind, Status};
pub use service::{MODEL, Service};
