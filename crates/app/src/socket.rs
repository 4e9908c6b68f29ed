//! The private socket of a server: a server runs the commands for data that it has open.
//!
//! ```text
//! command -> server   one line of JSON: an operation; then its input, if any, to the end
//! server -> command   lines of JSON: reports while it runs; the last is its answer or an error
//! ```
//!
//! It is in the data directory, and only root and the user who runs the server may use it: they could
//! read and change the files as well.

mod address;
mod client;
mod listener;
mod message;
mod run;

pub use client::is_served;
pub(crate) use client::{ask, connect};
pub use listener::{Listener, listen};
pub(crate) use run::is_known;
