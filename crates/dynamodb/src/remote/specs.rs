//! What the tables are, as far as requests are checked by it.
//!
//! Specs are kept once they were asked for. Somebody else may alter a table meanwhile, so a spec
//! that was kept refuses nothing: before a request is refused it is asked for again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use keyloom_store::{Error, Specs, TableName, TableSpec};

use super::refusal::{NOT_FOUND, VALIDATION, has_code};
use super::service::Service;

/// The specs that are known.
#[derive(Debug, Default)]
pub(super) struct KnownSpecs {
    specs: Mutex<HashMap<TableName, Arc<TableSpec>>>,
}

/// A request's tables, and the rules it must keep.
pub(super) struct Rules<'a> {
    pub(super) tables: Vec<&'a TableName>,
    pub(super) check: &'a (dyn Fn(Specs<'_>) -> Result<(), Error> + Sync),
}

/// The tables of one request: each with its spec, or why there is none.
struct Found {
    tables: Vec<(TableName, Result<Arc<TableSpec>, Error>)>,
}

impl KnownSpecs {
    fn get(&self, table: &TableName) -> Option<Arc<TableSpec>> {
        self.specs.lock().unwrap_or_else(PoisonError::into_inner).get(table).cloned()
    }

    pub(super) fn keep(&self, spec: TableSpec) -> Arc<TableSpec> {
        let spec = Arc::new(spec);
        let mut specs = self.specs.lock().unwrap_or_else(PoisonError::into_inner);
        specs.insert(spec.name.clone(), spec.clone());
        spec
    }

    pub(super) fn forget(&self, table: &TableName) {
        self.specs.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
    }
}

impl Found {
    fn check(&self, rules: &Rules<'_>) -> Result<(), Error> {
        (rules.check)(&|wanted| {
            let found = self.tables.iter().find(|(table, _)| table == wanted);
            let missing = || Err(Error::TableNotFound { table: wanted.clone() });
            found.map_or_else(missing, |(_, spec)| spec.clone())
        })
    }
}

impl Service {
    /// What the table is: as it was, if that is known.
    pub(super) async fn spec(&self, table: &TableName) -> Result<Arc<TableSpec>, Error> {
        match self.specs.get(table) {
            Some(spec) => Ok(spec),
            None => Ok(self.specs.keep(self.described(table).await?.spec)),
        }
    }

    /// Lets a request pass that keeps the rules.
    pub(super) async fn admit(&self, rules: &Rules<'_>) -> Result<(), Error> {
        let is_kept = rules.tables.iter().any(|table| self.specs.get(table).is_some());
        match self.found(rules).await.check(rules) {
            Err(_) if is_kept => self.admit_by_new_specs(rules).await,
            result => result,
        }
    }

    /// The error of a request that had passed. If the tables have changed since they were last
    /// asked for, that is why.
    pub(super) async fn explain(&self, rules: &Rules<'_>, error: Error) -> Error {
        if !has_code(&error, VALIDATION) && !has_code(&error, NOT_FOUND) {
            return error;
        }
        self.admit_by_new_specs(rules).await.err().unwrap_or(error)
    }

    async fn admit_by_new_specs(&self, rules: &Rules<'_>) -> Result<(), Error> {
        rules.tables.iter().for_each(|table| self.specs.forget(table));
        self.found(rules).await.check(rules)
    }

    async fn found(&self, rules: &Rules<'_>) -> Found {
        let mut found = Found { tables: Vec::new() };
        for table in &rules.tables {
            if !found.tables.iter().any(|(known, _)| known == *table) {
                found.tables.push(((*table).clone(), self.spec(table).await));
            }
        }
        found
    }
}
