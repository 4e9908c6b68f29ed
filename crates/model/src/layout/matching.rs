//! How posting lists are stored.

/// How posting lists are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matching {
    /// As sets of the store.
    Sets,
    /// As rows of the table that hold chunks of ordinals, and deltas; see `chunks.rs`.
    Chunks,
    /// As rows of the table, one for each posting. Only earlier revisions have them.
    Rows,
}
