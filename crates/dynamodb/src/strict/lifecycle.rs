//! Tables and indexes that take time to create and to delete.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyloom_store::{Error, IndexName, IndexState, TableDescription, TableName, Time};

use super::refusal::{code, refused};

/// When tables and indexes that are not ready yet will be.
#[derive(Debug)]
pub(super) struct Lifecycle {
    duration: Duration,
    /// When strict mode began: what was there before has been there since.
    began: Time,
    tables: Mutex<HashMap<TableName, Changing>>,
}

/// What is under way on a table.
#[derive(Debug, Default)]
struct Changing {
    created: Time,
    deleted: Option<Deleted>,
    /// When an index was or will be created or deleted.
    indexes: HashMap<IndexName, Time>,
}

/// A table that is gone, as it is described until its name is free.
#[derive(Debug)]
struct Deleted {
    until: Time,
    last: TableDescription,
}

impl Lifecycle {
    pub(super) fn new(duration: Duration, began: Time) -> Lifecycle {
        Lifecycle { duration, began, tables: Mutex::default() }
    }

    /// Returns since when a table has been there, with unused capacity.
    pub(super) fn since(&self, table: &TableName) -> Time {
        self.lock().get(table).map_or(self.began, |changing| changing.created.max(self.began))
    }

    /// Returns since when an index has been there.
    pub(super) fn index_since(&self, table: &TableName, index: &IndexName) -> Time {
        let tables = self.lock();
        let ready = tables.get(table).and_then(|changing| changing.indexes.get(index)).copied();
        drop(tables);
        ready.unwrap_or_default().max(self.since(table))
    }

    /// Refuses to create a table whose predecessor is still being deleted.
    pub(super) fn check_create(&self, table: &TableName, now: Time) -> Result<(), Error> {
        match self.deleted(table, now) {
            None => Ok(()),
            Some(_) => {
                let message = format!("Table is being deleted: {table}");
                Err(refused("CreateTable", code::IN_USE, message))
            }
        }
    }

    /// Returns the last description of a table that is being deleted.
    pub(super) fn deleted(&self, table: &TableName, now: Time) -> Option<TableDescription> {
        let tables = self.lock();
        let deleted = tables.get(table)?.deleted.as_ref();
        deleted.filter(|deleted| deleted.until > now).map(|deleted| deleted.last.clone())
    }

    /// Returns the names of the tables that are being deleted.
    pub(super) fn all_deleted(&self, now: Time) -> Vec<TableName> {
        let tables = self.lock();
        let is_deleted = |changing: &Changing| {
            changing.deleted.as_ref().is_some_and(|deleted| deleted.until > now)
        };
        let deleted = tables.iter().filter(|(_, changing)| is_deleted(changing));
        deleted.map(|(table, _)| table.clone()).collect()
    }

    pub(super) fn create(&self, table: &TableName, now: Time) {
        let created = self.end(now);
        self.lock().insert(table.clone(), Changing { created, ..Changing::default() });
    }

    pub(super) fn delete(&self, last: TableDescription, now: Time) {
        let table = last.spec.name.clone();
        let deleted = Some(Deleted { until: self.end(now), last });
        let mut tables = self.lock();
        tables.retain(|_, other| other.deleted.as_ref().is_none_or(|other| other.until > now));
        tables.insert(table, Changing { deleted, ..Changing::default() });
    }

    /// Refuses to create or delete an index while another one is being created or deleted.
    pub(super) fn check_index_change(&self, table: &TableName, now: Time) -> Result<(), Error> {
        let tables = self.lock();
        let changing = tables.get(table);
        let is_busy = |changing: &Changing| changing.indexes.values().any(|ready| *ready > now);
        match changing.is_some_and(is_busy) {
            false => Ok(()),
            true => {
                let message = "Subscriber limit exceeded: Only 1 online index can be created or \
                               deleted simultaneously per table";
                Err(refused("UpdateTable", code::LIMIT, message))
            }
        }
    }

    /// Refuses to change or delete a table that is not active.
    pub(super) fn check_active(
        &self,
        table: &TableName,
        operation: &'static str,
        now: Time,
    ) -> Result<(), Error> {
        match self.lock().get(table).is_none_or(|changing| changing.is_active(now)) {
            true => Ok(()),
            false => {
                let message =
                    format!("Attempt to change a resource which is still in use: {table}");
                Err(refused(operation, code::IN_USE, message))
            }
        }
    }

    pub(super) fn change_index(&self, table: &TableName, index: &IndexName, now: Time) {
        let ready = self.end(now);
        self.lock().entry(table.clone()).or_default().indexes.insert(index.clone(), ready);
    }

    /// Whether a table can be read and written.
    pub(super) fn is_created(&self, table: &TableName, now: Time) -> bool {
        let is_there = |changing: &Changing| {
            let is_deleted = changing.deleted.as_ref().is_some_and(|deleted| deleted.until > now);
            changing.created <= now && !is_deleted
        };
        self.lock().get(table).is_none_or(is_there)
    }

    /// Whether an index can be read.
    pub(super) fn is_index_ready(&self, table: &TableName, index: &IndexName, now: Time) -> bool {
        let tables = self.lock();
        let ready = tables.get(table).and_then(|changing| changing.indexes.get(index));
        ready.is_none_or(|ready| *ready <= now)
    }

    /// Returns the status of a table as the service reports it.
    pub(super) fn status(&self, table: &TableName, now: Time) -> &'static str {
        match self.lock().get(table) {
            Some(changing) if changing.deleted.as_ref().is_some_and(|d| d.until > now) => {
                "DELETING"
            }
            Some(changing) if changing.created > now => "CREATING",
            Some(changing) if !changing.is_active(now) => "UPDATING",
            _ => "ACTIVE",
        }
    }

    /// Shows indexes as they are in strict mode.
    pub(super) fn describe(&self, description: &mut TableDescription, now: Time) {
        for index in &mut description.indexes {
            if !self.is_index_ready(&description.spec.name, &index.name, now) {
                index.state = IndexState::Building { done: 0, total: description.items };
            }
        }
    }

    fn end(&self, now: Time) -> Time {
        let ms = u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX);
        Time(now.0.saturating_add(ms))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TableName, Changing>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changing {
    fn is_active(&self, now: Time) -> bool {
        let is_deleted = self.deleted.as_ref().is_some_and(|deleted| deleted.until > now);
        self.created <= now && !is_deleted && self.indexes.values().all(|ready| *ready <= now)
    }
}
