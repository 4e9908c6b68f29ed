//! Validates requests by the specs of their tables.
//!
//! Specs are cached. Others may alter a table in the meantime, so a cached spec never rejects a
//! request: the spec is fetched again first.

use std::sync::Arc;

use keyloom_store::{Error, Specs, TableName, TableSpec};

use super::codes::{NOT_FOUND, VALIDATION};
use super::refusal::has_code;
use super::service::Service;

/// The tables of a request, and the rules it must satisfy.
pub(super) struct Rules<'a> {
    pub(super) tables: Vec<&'a TableName>,
    pub(super) check: &'a (dyn Fn(Specs<'_>) -> Result<(), Error> + Sync),
}

/// The specs of the tables of one request, or why one is missing.
struct RequestSpecs {
    tables: Vec<(TableName, Result<Arc<TableSpec>, Error>)>,
}

impl RequestSpecs {
    fn check(&self, rules: &Rules<'_>) -> Result<(), Error> {
        (rules.check)(&|wanted| {
            let found = self.tables.iter().find(|(table, _)| table == wanted);
            let missing = || Err(Error::TableNotFound { table: wanted.clone() });
            found.map_or_else(missing, |(_, spec)| spec.clone())
        })
    }
}

impl Service {
    /// Returns the spec of a table, from the cache if possible.
    pub(super) async fn spec(&self, table: &TableName) -> Result<Arc<TableSpec>, Error> {
        match self.specs.get(table) {
            Some(spec) => Ok(spec),
            None => Ok(self.specs.insert(self.describe_without_ttl(table).await?.spec)),
        }
    }

    /// Checks that a request satisfies the rules.
    pub(super) async fn validate(&self, rules: &Rules<'_>) -> Result<(), Error> {
        let is_cached = rules.tables.iter().any(|table| self.specs.get(table).is_some());
        match self.request_specs(rules).await.check(rules) {
            Err(_) if is_cached => self.validate_with_fresh_specs(rules).await,
            result => result,
        }
    }

    /// Explains the error of a request that was valid by the cached specs: if the tables have
    /// changed since, returns the rule it breaks now.
    pub(super) async fn explain(&self, rules: &Rules<'_>, error: Error) -> Error {
        if !has_code(&error, VALIDATION) && !has_code(&error, NOT_FOUND) {
            return error;
        }
        self.validate_with_fresh_specs(rules).await.err().unwrap_or(error)
    }

    async fn validate_with_fresh_specs(&self, rules: &Rules<'_>) -> Result<(), Error> {
        rules.tables.iter().for_each(|table| self.specs.invalidate(table));
        self.request_specs(rules).await.check(rules)
    }

    async fn request_specs(&self, rules: &Rules<'_>) -> RequestSpecs {
        let mut found = RequestSpecs { tables: Vec::new() };
        for table in &rules.tables {
            if !found.tables.iter().any(|(known, _)| known == *table) {
                found.tables.push(((*table).clone(), self.spec(table).await));
            }
        }
        found
    }
}
