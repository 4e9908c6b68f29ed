//! The expression languages: conditions and filters, key conditions, updates, projections.
//!
//! Text is split into tokens (`lexer`), parsed into a syntax tree (`syntax`) and resolved, with
//! placeholders substituted (`substitutions`), to one of `keyloom_value`'s types. [`Printer`] is
//! the reverse. Length, operators and nesting are limited before anything is built.

mod condition;
mod error;
mod key_condition;
mod lexer;
mod parse;
mod print;
mod projection;
mod reserved;
mod substitutions;
mod syntax;
mod update;

pub(crate) use condition::{checked_between, checked_call, checked_compare, checked_size};
pub use error::ExpressionError;
pub use print::Printer;
pub use substitutions::Substitutions;
pub(crate) use update::refused as refused_update;
