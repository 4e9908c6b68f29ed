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
    deleted: Time,
    /// When an index was or will be created or deleted.
    indexes: HashMap<IndexName, Time>,
}

impl Lifecycle {
    pub(super) fn new(duration: Duration, began: Time) -> Lifecycle {
        Lifecycle { duration, began, tables: Mutex::default() }
    }

    /// Returns since when a table has been there, with unused capacity.
    pub(super) fn since(&self, table: &TableName) -> Time {
        self.lock().get(table).map_or(self.began, |changing| changing.created.max(self.began))
    }

    /// Refuses to create a table whose predecessor is still being deleted.
    pub(super) fn check_create(&self, table: &TableName, now: Time) -> Result<(), Error> {
        match self.lock().get(table).is_some_and(|changing| changing.deleted > now) {
            false => Ok(()),
            true => {
                let message = format!("Table is being deleted: {table}");
                Err(refused("CreateTable", code::IN_USE, message))
            }
        }
    }

    pub(super) fn create(&self, table: &TableName, now: Time) {
        let created = self.end(now);
        self.lock().insert(table.clone(), Changing { created, ..Changing::default() });
    }

    pub(super) fn delete(&self, table: &TableName, now: Time) {
        let deleted = self.end(now);
        self.lock().insert(table.clone(), Changing { deleted, ..Changing::default() });
    }

    /// Refuses a change of a table, or of its indexes if `is_index`: those are created and deleted
    /// one at a time.
    pub(super) fn check_alter(
        &self,
        table: &TableName,
        is_index: bool,
        now: Time,
    ) -> Result<(), Error> {
        let tables = self.lock();
        let Some(changing) = tables.get(table) else { return Ok(()) };
        if is_index && changing.indexes.values().any(|ready| *ready > now) {
            let message = "Subscriber limit exceeded: Only 1 online index can be created or \
                           deleted simultaneously per table";
            return Err(refused("UpdateTable", code::LIMIT, message));
        }
        match changing.is_active(now) {
            true => Ok(()),
            false => {
                let message =
                    format!("Attempt to change a resource which is still in use: {table}");
                Err(refused("UpdateTable", code::IN_USE, message))
            }
        }
    }

    pub(super) fn change_index(&self, table: &TableName, index: &IndexName, now: Time) {
        let ready = self.end(now);
        self.lock().entry(table.clone()).or_default().indexes.insert(index.clone(), ready);
    }

    /// Whether a table can be read and written.
    pub(super) fn is_created(&self, table: &TableName, now: Time) -> bool {
        self.lock().get(table).is_none_or(|changing| changing.created <= now)
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
        self.created <= now && self.indexes.values().all(|ready| *ready <= now)
    }
}
