//! The private socket of a server: commands for data that a server has open are run by that server.
//!
//! ```text
//! command -> server   one line of JSON: an operation; then its input, if it has any, to the end
//! server -> command   lines of JSON: what is told while it runs; the last is its answer or an error
//! ```
//!
//! It lies in the data directory, and only the user who runs the server may use it: whoever can
//! connect could read and change the files as well.

mod address;
mod client;
mod listener;
mod message;
mod run;

pub use client::is_served;
pub(crate) use client::{ask, connect};
pub use listener::{Listener, listen};
pub(crate) use run::is_known;
