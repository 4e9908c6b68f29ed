//! Backups that DynamoDB keeps itself.

use keyloom_dynamodb::{Remote, RemoteOptions};
use keyloom_store::{Error, Read, TableName};

use super::call::block_on;

/// An on-demand backup of a table and of its tokens, kept by the service.
#[derive(Clone, Debug)]
pub struct ServiceBackup {
    /// The table.
    pub table: String,
    /// The name of the backup.
    pub name: String,
    /// How to reach the service.
    pub remote: RemoteOptions,
}

impl ServiceBackup {
    /// Starts the backups; returns their resource names. The service completes them on its own.
    ///
    /// # Errors
    ///
    /// If the service refuses, or a server has no backups.
    pub fn run(&self) -> Result<Vec<String>, String> {
        block_on(async {
            let remote = Remote::connect(self.remote.clone()).await.map_err(|e| e.to_string())?;
            let names = remote.list_tables().await.map_err(|error| error.to_string())?;
            let tokens = format!("{}.tokens", self.table);
            let wanted = |name: &&TableName| name.as_str() == self.table || name.as_str() == tokens;
            let mut made = vec![];
            for table in names.iter().filter(wanted) {
                let backup = remote.create_backup(table.clone(), self.name.clone()).await;
                made.push(backup.map_err(|error| unsupported(&error))?);
            }
            match made.is_empty() {
                true => Err(format!("Table `{}` not found.", self.table)),
                false => Ok(made),
            }
        })
    }
}

/// Other servers with DynamoDB's protocol do not know the operation.
fn unsupported(error: &Error) -> String {
    let is_unknown = |code: &str| code == "UnknownOperationException";
    match error {
        Error::Refused(refusal) if refusal.code.as_deref().is_some_and(is_unknown) => {
            "this server has no backups of its own: use --to to write a copy.".to_owned()
        }
        error => error.to_string(),
    }
}
