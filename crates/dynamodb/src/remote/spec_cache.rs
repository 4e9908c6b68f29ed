//! The specs of tables, as last fetched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use keyloom_store::{TableName, TableSpec};

/// A cache of table specs. An entry may be outdated.
#[derive(Debug, Default)]
pub(super) struct SpecCache {
    specs: Mutex<HashMap<TableName, Arc<TableSpec>>>,
}

impl SpecCache {
    pub(super) fn get(&self, table: &TableName) -> Option<Arc<TableSpec>> {
        self.specs.lock().unwrap_or_else(PoisonError::into_inner).get(table).cloned()
    }

    pub(super) fn insert(&self, spec: TableSpec) -> Arc<TableSpec> {
        let spec = Arc::new(spec);
        let mut specs = self.specs.lock().unwrap_or_else(PoisonError::into_inner);
        specs.insert(spec.name.clone(), spec.clone());
        spec
    }

    pub(super) fn invalidate(&self, table: &TableName) {
        self.specs.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
    }
}
