//! Parses tokens into a syntax tree. Placeholders are not resolved here.

mod condition;
mod cursor;
mod node;
mod update;

pub(super) use condition::condition;
pub(super) use node::{Arithmetic, Node, RawPath, RawStep};
pub(super) use update::{RawUpdate, projection, update};
