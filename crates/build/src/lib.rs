//! Generates a typed Rust module from a model: call it from a `build.rs`.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), keyloom_build::Error> {
//!     keyloom_build::compile("model.toml")
//! }
//! ```
//!
//! ```text
//! // src/main.rs
//! keyloom_typed::include_model!(mod model);
//! ```
//!
//! The module has a struct for each entity, a method for each declared query, and a cursor type for each of
//! them, over `keyloom::Db`. A query that is not declared does not compile.
//! `docs/clients.md` shows how it is used.
//!
//! The stages are files in the order they run: `names` (names of the model → unique names of Rust),
//! `rust_type` (types of fields → types of Rust), and one file for each part of the module, which
//! `module.rs` puts together. The same model always makes the same module.
//!
//! This crate decides nothing about data, and reads nothing but the model file.

mod board;
mod builder;
mod collection;
mod count;
mod creation;
mod database;
mod describe;
mod entity;
mod enumeration;
mod error;
mod list;
mod module;
mod names;
mod patch;
mod rust_type;
mod source;
mod words;

pub use builder::{Builder, compile};
pub use error::Error;
