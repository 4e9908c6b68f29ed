//! The records of backups.
//!
//! A backup is a table of its own, which clients do not see, with the definition and the items of the
//! table that was backed up, and a row about it in the table of backups. The row is written before
//! the first item, and names the opening of the store that copies: what another opening left
//! unfinished is dropped.

use keyloom_store::{
    Delete, Error, Get, KeySchema, KeyType, Put, Scan, Store, TableName, TableSpec, Time,
};
use keyloom_value::{Item, Value};

use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::settings::{INTERNAL, Settings, decode, encode, to_u64};

/// A backup.
#[derive(Clone, Debug)]
pub(super) struct Backup {
    /// Unique, and sorted by time.
    pub(super) id: String,
    pub(super) name: String,
    /// The table that was backed up, and what identified it.
    pub(super) table: TableName,
    pub(super) table_id: String,
    pub(super) table_created: Time,
    pub(super) created: Time,
    pub(super) settings: Settings,
    /// The opening of the store that still copies.
    pub(super) copied_by: Option<u64>,
}

impl Backup {
    /// The table with the items.
    pub(super) fn data(&self) -> Result<TableName, Fault> {
        internal_table(&format!("backup.{}", self.id))
    }

    pub(super) fn arn(&self, endpoint: &Endpoint) -> String {
        format!("{}/backup/{}", endpoint.table_arn(&self.table), self.id)
    }

    pub(super) fn status(&self) -> &'static str {
        if self.copied_by.is_some() { "CREATING" } else { "AVAILABLE" }
    }

    fn encode(&self) -> Item {
        let mut row = Item::from([("id", self.id.as_str()), ("name", self.name.as_str())]);
        row.insert("table", self.table.as_str());
        row.insert("table_id", self.table_id.as_str());
        row.insert("table_created", self.table_created.0);
        row.insert("created", self.created.0);
        row.insert("settings", encode(&self.settings));
        if let Some(opening) = self.copied_by {
            row.insert("copied_by", opening.to_string());
        }
        row
    }

    fn decode(row: &Item) -> Option<Backup> {
        let text = |name: &str| row.get(name)?.as_s().map(str::to_owned);
        let time = |name: &str| to_u64(row.get(name)).map(Time);
        let settings = match row.get("settings") {
            Some(Value::M(members)) => decode(members),
            _ => Settings::default(),
        };
        Some(Backup {
            id: text("id")?,
            name: text("name")?,
            table: TableName::new(&text("table")?).ok()?,
            table_id: text("table_id")?,
            table_created: time("table_created")?,
            created: time("created")?,
            settings,
            copied_by: text("copied_by").and_then(|opening| opening.parse().ok()),
        })
    }
}

impl Endpoint {
    /// The number of this opening of the store.
    pub(super) fn opening(&self) -> u64 {
        self.settings_store.opening().unwrap_or_default()
    }

    pub(super) async fn put_backup(&self, backup: &Backup) -> Result<(), Fault> {
        let table = internal_table("backups")?;
        loop {
            let put = Put::new(&table, backup.encode());
            match self.settings_store.put(put).await {
                Ok(_) => return Ok(()),
                Err(Error::TableNotFound { .. }) => {
                    let key = KeySchema::partition("id", KeyType::S);
                    create_internal(&*self.settings_store, TableSpec::new(table.clone(), key))
                        .await?;
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    pub(super) async fn backup(&self, id: &str) -> Result<Option<Backup>, Fault> {
        let get = Get::new(&internal_table("backups")?, Item::from([("id", id)]));
        match self.settings_store.get(get).await {
            Ok(row) => Ok(row.as_ref().and_then(Backup::decode)),
            Err(Error::TableNotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns all backups, oldest first.
    pub(super) async fn all_backups(&self) -> Result<Vec<Backup>, Fault> {
        let mut backups = Vec::new();
        let mut scan = Scan::new(&internal_table("backups")?);
        loop {
            let page = match self.settings_store.scan(scan.clone()).await {
                Ok(page) => page,
                Err(Error::TableNotFound { .. }) => break,
                Err(error) => return Err(failed(error)),
            };
            backups.extend(page.items.iter().filter_map(Backup::decode));
            match page.last_key {
                Some(key) => scan.start = Some(key),
                None => break,
            }
        }
        backups.sort_by(|left, right| left.id.cmp(&right.id));
        Ok(backups)
    }

    /// Deletes a backup: its record first, so that none names missing items.
    pub(super) async fn delete_backup(&self, backup: &Backup) -> Result<(), Fault> {
        let key = Item::from([("id", backup.id.as_str())]);
        let delete = Delete::new(&internal_table("backups")?, key);
        self.settings_store.delete(delete).await.map_err(failed)?;
        drop_internal(&*self.settings_store, backup.data()?).await
    }
}

/// Returns the name of a table that clients do not see.
pub(super) fn internal_table(name: &str) -> Result<TableName, Fault> {
    let name = TableName::new(&format!("{INTERNAL}{name}"));
    name.map_err(|invalid| Fault::validation(invalid.to_string()))
}

/// Creates a table unless it exists.
pub(super) async fn create_internal(store: &dyn Store, spec: TableSpec) -> Result<(), Fault> {
    match store.create_table(spec).await {
        Ok(_) | Err(Error::TableExists { .. }) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Drops a table if it exists.
pub(super) async fn drop_internal(store: &dyn Store, table: TableName) -> Result<(), Fault> {
    match store.drop_table(table).await {
        Ok(_) | Err(Error::TableNotFound { .. }) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

pub(super) fn failed(error: Error) -> Fault {
    Fault::new(FaultCode::InternalServerError, error.to_string())
}
