//! Where queries read, and by what. What can be read is in `queries.rs`.

use std::fmt;

use keyloom_model::Layout;
use keyloom_store::{Read, TableName};

use crate::dependencies::Dependencies;
use crate::dependency::Dependency;
use crate::fetch::Rows;

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
    /// Where to note what is read, if anybody wants to know.
    pub noted: Option<&'a Dependencies>,
}

impl<'a> Reader<'a> {
    /// Notes what is read, if anybody wants to know.
    pub(crate) fn note(&self, dependency: impl FnOnce() -> Dependency) {
        if let Some(noted) = self.noted {
            noted.note(dependency());
        }
    }

    /// The rows of the table, for the types that queries are made of.
    pub(crate) fn rows(&self) -> Rows<'a> {
        Rows { store: self.store, table: self.table }
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("table", self.table)
            .field("now_ms", &self.now_ms)
            .finish_non_exhaustive()
    }
}
