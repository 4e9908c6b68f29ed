//! The service's own backups.

use keyloom_store::{Error, TableName};

use super::refusal::{incomplete, write_failed};
use super::service::Service;

impl Service {
    /// Starts an on-demand backup of a table; returns its resource name.
    pub(super) async fn create_backup(
        &self,
        table: &TableName,
        name: &str,
    ) -> Result<String, Error> {
        let request = self.connection.tables.create_backup();
        let request = request.table_name(table.as_str()).backup_name(name);
        let sent = self.send_write(|| request.clone().send()).await;
        let output = sent.map_err(|error| write_failed("CreateBackup", error))?;
        let details = output.backup_details;
        details
            .map(|details| details.backup_arn)
            .ok_or_else(|| incomplete("CreateBackup", "the backup"))
    }
}
