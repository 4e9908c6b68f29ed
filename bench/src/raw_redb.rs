//! Plain redb: each put is a separate durable transaction.

use std::path::Path;

use redb::Durability;

use crate::{Contender, Found, Outcome, Row, RowKey, Rows, Tree};

/// redb with its defaults.
#[derive(Debug)]
pub(crate) struct RawRedb {
    tree: Tree,
}

impl RawRedb {
    pub(crate) fn open(directory: &Path, memory_bytes: usize) -> Outcome<RawRedb> {
        Ok(RawRedb { tree: Tree::open(&directory.join("tree.redb"), memory_bytes)? })
    }
}

impl Contender for RawRedb {
    fn load(&self, rows: &Rows) -> Outcome<()> {
        self.tree.load(rows)
    }

    fn get(&self, key: &RowKey) -> Outcome<Option<Vec<u8>>> {
        self.tree.get(key)
    }

    fn range20(&self, from: &RowKey) -> Outcome<Found> {
        self.tree.range20(from).map(Found::Bodies)
    }

    fn put(&self, row: Row<'_>) -> Outcome<()> {
        self.tree.write([row], Durability::Immediate)
    }
}
