//! What all reads have in common.

use std::fmt;

use keyloom_model::Layout;
use keyloom_store::{Read, TableName};

/// A store or a snapshot of one, the table and its layout, and the moment of asking.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Where to read.
    pub store: &'a dyn Read,
    /// The table that everything is in.
    pub table: &'a TableName,
    /// How it is laid out.
    pub layout: &'a Layout,
    /// What time it is, in milliseconds since 1970: what has expired by now is not seen.
    pub now_ms: i64,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("table", self.table)
            .field("now_ms", &self.now_ms)
            .finish_non_exhaustive()
    }
}
