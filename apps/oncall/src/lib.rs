//! On-call paging with escalation.
//!
//! Opening a search starts a *hunt*: the methods of its contact are used in order, each after its wait,
//! until somebody answers, somebody cancels, or nobody is left. [`hunt`] is the state machine; the code
//! around it reads its input, writes its moves and sends messages. The README shows how to use it.
//!
//! All state is in the store: a program that is killed continues after a restart. In the store each step
//! happens once. A message is sent at least once, with an idempotency key, and never for the first time
//! after its search has ended.

mod application;
mod deliver;
mod demo;
mod ending;
mod front;
mod handlers;
// Public, for tests of the state machine.
pub mod hunt;
mod jobs;
mod link;
mod message;
mod outbound;
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
mod transport;

pub use application::application;
pub use demo::{demo, sample};
pub use ending::{Ending, NotEnded, end};
pub use rows::{Kind, Status};
pub use service::{MODEL, Service};
pub use transport::{Accepted, Message, SendFuture, Transport};
