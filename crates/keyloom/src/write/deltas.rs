//! What a transaction appends to the deltas of posting lists, on a store without sets: one row for
//! each entity whose lists change, however many they are.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyloom_model::{DeltaChange, EntityId, Layout, RowKey};
use keyloom_store::{Clock, Store, TableName, TransactAction, UpdateItem};
use keyloom_value::Value;

use super::planned_action::{OnConflict, PlannedAction};
use super::registry::Registry;
use crate::error::Error;

/// How many deltas of a group wait to be folded before writers wait too. Each is read by every filter.
pub(crate) const WAITING_MAX: u64 = 4_000;
/// How often and how long a writer waits for room.
const WAITS_MAX: u32 = 100;
const WAIT: Duration = Duration::from_millis(100);

/// An ordinal, and what it is unique within.
#[derive(Clone, Copy)]
pub(crate) struct OrdinalOwner<'o> {
    pub(crate) entity: EntityId,
    pub(crate) tenant: Option<&'o Value>,
    pub(crate) ordinal: u64,
}

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
        owner: &OrdinalOwner<'_>,
        joined: Vec<Vec<u8>>,
        left: Vec<Vec<u8>>,
    ) -> PlannedDelta {
        let OrdinalOwner { entity, tenant, ordinal } = *owner;
        let key = layout.chunks().delta_key(entity, tenant, ordinal);
        PlannedDelta { key, group: layout.chunks().group_key(entity, tenant), joined, left }
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
        PlannedAction { action: TransactAction::Update(update), on_conflict: OnConflict::DeltaFull }
    }
}

/// The groups in which this process writes deltas.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    registry: Registry,
    /// How many deltas of each group waited when folding looked last, and how many this process has
    /// written since.
    waiting: Mutex<BTreeMap<RowKey, u64>>,
}

impl Groups {
    /// Registers the groups of some deltas. Call it before the deltas are written.
    pub(crate) async fn register(
        &self,
        store: &dyn Store,
        table: &TableName,
        deltas: &[PlannedDelta],
        now_ms: i64,
    ) -> Result<(), Error> {
        let groups: Vec<RowKey> = deltas.iter().map(|delta| delta.group.clone()).collect();
        self.registry.register(store, table, &groups, now_ms).await
    }

    /// Waits while too many deltas do: they are read by every filter. Without folding in this process
    /// nothing is known, and nobody waits.
    pub(crate) async fn make_room(
        &self,
        deltas: &[PlannedDelta],
        clock: &dyn Clock,
    ) -> Result<(), Error> {
        let is_full = |delta: &PlannedDelta| {
            self.lock().get(&delta.group).is_some_and(|waiting| *waiting >= WAITING_MAX)
        };
        for _ in 0..WAITS_MAX {
            if !deltas.iter().any(is_full) {
                return Ok(());
            }
            clock.sleep(WAIT).await;
        }
        Err(Error::Contended)
    }

    /// Whether this process has written deltas since the last call.
    pub(crate) fn have_written(&self) -> bool {
        self.registry.take_work()
    }

    /// Notes how many deltas of a group wait to be folded.
    pub(crate) fn set_waiting(&self, group: RowKey, waiting: u64) {
        self.lock().insert(group, waiting);
    }

    /// Notes deltas that were written. Only counted where folding looks at them from time to time.
    pub(crate) fn note_written(&self, deltas: &[PlannedDelta]) {
        let mut groups = self.lock();
        for delta in deltas {
            if let Some(waiting) = groups.get_mut(&delta.group).filter(|waiting| **waiting > 0) {
                *waiting += 1;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RowKey, u64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
