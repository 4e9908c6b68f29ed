//! The store in memory, written to be obviously right: no tree, no index rows, no key bytes.
//! Every read looks at every item. What the engine answers is compared with what this answers.

mod column;
mod page;
mod set;
mod state;
mod store;
mod table;

pub use store::MemoryStore;
