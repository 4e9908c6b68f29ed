//! A Model Context Protocol server, so that assistants can read a Keyloom database and reason about its
//! model.
//!
//! [`serve_stdio`] and [`serve_http`] serve the same read-only tools: describe the model, run a declared
//! query, explain it, check and compare models, propose a declaration, list changes, verify derived data.
//!
//! The crate is a client of a running server, over its HTTP API: it opens no data, so tokens, tenants and
//! access rules hold as for every other client. It never writes, never runs anything but declared
//! queries, and knows of the model only what the server publishes. `rmcp` implements the protocol; no
//! other crate depends on it.

mod catalog;
mod handler;
mod http;
mod limits;
mod options;
mod parameter;
mod patch;
mod plan_text;
mod price;
mod query_kind;
mod response;
mod served_model;
mod session;
mod shown;
mod stdio;
mod target;
mod token;
mod tool;
mod tool_error;
mod tools;
mod upstream;

pub use http::{McpListener, serve_http};
pub use options::McpOptions;
pub use stdio::serve_stdio;
pub use token::Token;
