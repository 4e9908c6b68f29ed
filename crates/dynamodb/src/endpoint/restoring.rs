//! The tables that are being restored: requests about items do not find them yet.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_store::TableName;

/// The tables that are being restored by this endpoint.
#[derive(Debug, Default)]
pub(super) struct Restoring {
    /// So that requests need no lock while there are none.
    count: AtomicUsize,
    tables: Mutex<BTreeSet<TableName>>,
}

impl Restoring {
    /// Hides a table; returns false if it is being restored already.
    pub(super) fn begin(&self, table: &TableName) -> bool {
        let mut tables = self.tables();
        let is_new = tables.insert(table.clone());
        self.count.store(tables.len(), Ordering::Release);
        is_new
    }

    pub(super) fn end(&self, table: &TableName) {
        let mut tables = self.tables();
        tables.remove(table);
        self.count.store(tables.len(), Ordering::Release);
    }

    pub(super) fn has(&self, table: &TableName) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.tables().contains(table)
    }

    fn tables(&self) -> MutexGuard<'_, BTreeSet<TableName>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
