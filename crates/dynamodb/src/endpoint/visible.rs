//! Hides the endpoint's own tables from clients.

use keyloom_store::{TableDescription, TableName};

use crate::wire::{Fault, FaultCode};

use super::settings::is_internal_table;
use super::{Endpoint, refusal};

impl Endpoint {
    /// Describes a table that clients can see.
    pub(super) async fn table(&self, name: &TableName) -> Result<TableDescription, Fault> {
        if is_internal_table(name) {
            return Err(refusal::table_not_found(name));
        }
        let description = self.store.describe_table(name.clone()).await;
        description.map_err(|error| refusal::table_fault(self, name, error))
    }

    /// Fails for the endpoint's own tables, and for those that are being restored, as if they did
    /// not exist.
    pub(super) fn check_visible(&self, table: &TableName) -> Result<(), Fault> {
        match is_internal_table(table) || self.restoring.has(table) {
            true => Err(refusal::table_not_found(table)),
            false => Ok(()),
        }
    }

    /// Fails for a table that is being restored.
    pub(super) fn check_unused(&self, table: &TableName) -> Result<(), Fault> {
        if !self.restoring.has(table) {
            return Ok(());
        }
        let message = format!(
            "Attempt to change a resource which is still in use: Table is being created: {table}"
        );
        Err(Fault::new(FaultCode::ResourceInUse, message))
    }
}
