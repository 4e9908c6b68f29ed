//! Tests of the reader: against serde_json, and its limits.

mod hostile;
mod limits;
mod strings;
mod tree;
