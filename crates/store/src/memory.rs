//! The store in memory, written to be obviously correct: no tree, no index rows, no key bytes.
//! Every read scans every item. Tests compare the engine with it.

mod column;
mod indexed;
mod page;
mod set;
mod state;
mod store;
mod table;

pub use store::MemoryStore;
