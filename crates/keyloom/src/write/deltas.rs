//! What a transaction appends to the deltas of posting lists, on a store without sets: one row for
//! each entity whose lists change, however many they are.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_model::{DeltaChange, EntityKey, Layout, RowKey};
use keyloom_store::{Put, Store, TableName, TransactAction, UpdateItem};
use keyloom_value::Value;

use super::difference::PlannedAction;
use crate::error::Error;

/// How often a process writes the row of a group in which it writes deltas.
const REGISTERED_MS: i64 = 60_000;
/// Of the row of a group: when it was written, in milliseconds since 1970.
pub(crate) const REGISTERED: &str = "at";

/// What one entity appends.
#[derive(Clone, Debug)]
pub(crate) struct PlannedDelta {
    /// The row.
    key: RowKey,
    /// The row of the group.
    group: RowKey,
    joined: Vec<Vec<u8>>,
    left: Vec<Vec<u8>>,
}

impl PlannedDelta {
    pub(crate) fn new(
        layout: &Layout,
        entity: &EntityKey,
        ordinal: u64,
        [joined, left]: [Vec<Vec<u8>>; 2],
    ) -> PlannedDelta {
        let (kind, tenant) = (entity.entity, entity.tenant.as_ref());
        let key = layout.chunks().delta_key(kind, tenant, ordinal);
        PlannedDelta { key, group: layout.chunks().group_key(kind, tenant), joined, left }
    }

    /// The number of bytes that it appends.
    pub(crate) fn bytes(&self) -> usize {
        self.joined.iter().chain(&self.left).map(|name| name.len() + 4).sum()
    }

    /// The action that appends it, in the name of a write.
    pub(crate) fn action(&self, table: &TableName, stamp: &str) -> PlannedAction {
        let (joined, left) = (self.joined.clone(), self.left.clone());
        let change = DeltaChange { stamp: stamp.to_owned(), joined, left };
        let update = UpdateItem::new(table, self.key.to_item(), change.append());
        PlannedAction::or_changed(TransactAction::Update(update))
    }
}

/// The groups whose rows this process has written, and when: folding finds deltas by these rows.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    registered: Mutex<BTreeMap<RowKey, i64>>,
}

impl Groups {
    /// Writes the rows of the groups of some deltas, unless that was done a short while ago. Call it
    /// before the deltas are written.
    pub(crate) async fn register(
        &self,
        store: &dyn Store,
        table: &TableName,
        deltas: &[PlannedDelta],
        now_ms: i64,
    ) -> Result<(), Error> {
        for PlannedDelta { group, .. } in deltas {
            let since = self.lock().get(group).copied();
            let is_fresh =
                |since: i64| (since..since.saturating_add(REGISTERED_MS)).contains(&now_ms);
            if since.is_some_and(is_fresh) {
                continue;
            }
            let mut row = group.to_item();
            row.insert(REGISTERED, Value::from(now_ms));
            store.put(Put::new(table, row)).await?;
            self.lock().insert(group.clone(), now_ms);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RowKey, i64>> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
