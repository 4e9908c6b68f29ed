//! JSON on the wire: a tree that borrows from the text, and a writer.
//!
//! Numbers stay text: attribute values carry theirs in strings, and the few others are counts.
//! Nesting is limited to protect the stack, and the number of values to protect memory. Lists and
//! objects have no spare capacity: nearly every object is a typed value, with one member.

mod parse;
mod tree;
mod write;

pub(crate) use parse::parse;
pub(crate) use tree::Json;
pub(crate) use write::Writer;
