//! The five expression languages: conditions and filters, key conditions, updates, projections.
//!
//! Text becomes tokens (`lexer`), tokens a tree of what was written (`syntax`), and the tree, with
//! names and values put in (`substitutions`), one of `keyloom_value`'s types. [`Printer`] goes the
//! other way. Length, operators and nesting are limited before anything is built.

mod condition;
mod error;
mod key_condition;
mod lexer;
mod print;
mod projection;
mod reserved;
mod substitutions;
mod syntax;
mod update;

pub use error::ExpressionError;
pub use print::Printer;
pub use substitutions::Substitutions;
