//! Registers where this process leaves work for background operations: partitions that they would not
//! find otherwise, because there is one for each tenant or value.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_model::RowKey;
use keyloom_store::{Delete, Store, TableName, UpdateItem};
use keyloom_value::{Condition, Item, Path, Update, Value};

use crate::error::Error;
use crate::system_rows::{delete_if, key_of};

/// How often a process writes a row of the registry.
const REGISTERED_MS: i64 = 60_000;
/// How long nobody must have written a row until it is removed: ten times as long as a process relies on
/// having written it.
const FORGET_MS: i64 = 600_000;
/// From how many rows on those are forgotten that have to be written again anyway.
const KNOWN_MAX: usize = 10_000;
/// When a row was written, in milliseconds since 1970.
const REGISTERED: &str = "at";

/// The rows that this process has written.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// When it wrote each.
    known: Mutex<BTreeMap<RowKey, i64>>,
    /// Whether this process has left work since the operation looked.
    has_work: AtomicBool,
}

impl Registry {
    /// Writes some rows, unless that was done a short while ago. Call it before the work is left.
    pub(crate) async fn register(
        &self,
        store: &dyn Store,
        table: &TableName,
        keys: &[RowKey],
        now_ms: i64,
    ) -> Result<(), Error> {
        for key in keys {
            self.has_work.store(true, Ordering::Relaxed);
            let since = self.lock().get(key).copied();
            let is_fresh =
                |since: i64| (since..since.saturating_add(REGISTERED_MS)).contains(&now_ms);
            if since.is_some_and(is_fresh) {
                continue;
            }
            let at = Update::new().set(Path::from(REGISTERED), Value::from(now_ms));
            store.update(UpdateItem::new(table, key.to_item(), at)).await?;
            let mut known = self.lock();
            if known.len() >= KNOWN_MAX {
                known.retain(|_, since| is_fresh(*since));
            }
            known.insert(key.clone(), now_ms);
        }
        Ok(())
    }

    /// Whether this process has left work since the last call.
    pub(crate) fn take_work(&self) -> bool {
        self.has_work.swap(false, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RowKey, i64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a row of a registry where no work is left and nobody has left any for long.
pub(crate) async fn forget_registered(
    store: &dyn Store,
    table: &TableName,
    row: &Item,
    now_ms: i64,
) -> Result<(), Error> {
    let registered = row.get(REGISTERED).and_then(Value::as_n).and_then(|at| at.to_i64());
    let Some(at_ms) = registered.filter(|at_ms| now_ms.saturating_sub(*at_ms) >= FORGET_MS) else {
        return Ok(());
    };
    let unchanged = Condition::equal(Path::from(REGISTERED), Value::from(at_ms));
    delete_if(store, Delete::new(table, key_of(row)).when(unchanged)).await
}
