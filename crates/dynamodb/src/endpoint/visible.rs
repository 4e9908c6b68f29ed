//! Hides the endpoint's settings table from clients.

use keyloom_store::{TableDescription, TableName};

use crate::wire::Fault;

use super::settings::is_settings_table;
use super::{Endpoint, refusal};

impl Endpoint {
    /// Describes a table that clients can see.
    pub(super) async fn table(&self, name: &TableName) -> Result<TableDescription, Fault> {
        self.check_visible(name)?;
        let description = self.store.describe_table(name.clone()).await;
        description.map_err(|error| refusal::table_fault(self, name, error))
    }

    /// Fails for the settings table, as if it did not exist.
    pub(super) fn check_visible(&self, table: &TableName) -> Result<(), Fault> {
        if is_settings_table(table) { Err(refusal::table_not_found(table)) } else { Ok(()) }
    }
}
