//! What every read needs.

use std::fmt;

use keyloom_model::Layout;
use keyloom_store::{Read, TableName};

/// A store or a snapshot of one, the table and its layout, and the current time.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The store to read.
    pub store: &'a dyn Read,
    /// The table that has everything.
    pub table: &'a TableName,
    /// The layout of the table.
    pub layout: &'a Layout,
    /// The current time, in milliseconds since 1970: what has expired by then is invisible.
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
