//! PartiQL, in the subset that DynamoDB has.
//!
//! A statement is split into tokens (`lexer`), parsed into a syntax tree (`parse`) and resolved with
//! its parameters to items, conditions and updates of `keyloom_value` (`resolve`). `plan` turns the
//! condition of a `SELECT` into reads of partitions, or a scan; `key` takes the key of a write out of
//! its condition. Nothing here reads a table. Length and nesting are limited while parsing.

mod condition;
mod cursor;
mod error;
mod expr;
mod key;
mod keywords;
mod lexer;
mod literal;
mod parse;
mod plan;
mod position;
mod range;
mod resolve;
mod syntax;
mod update;

pub(crate) use error::StatementError;
pub(crate) use key::{Pinned, pinned};
pub(crate) use plan::{Branch, Reads, plan, projects};
pub(crate) use resolve::{Columns, Delete, Resolved, Select, resolve};
