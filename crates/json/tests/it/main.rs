//! The reader beside serde_json, and what it refuses.

mod hostile;
mod limits;
mod tree;
