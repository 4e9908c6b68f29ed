//! The record of a deletion: a row that its tombstones name, and whose state determines what they
//! mean.
//!
//! ```text
//! marking     not applied yet: a writer that needs one of the entities cancels the deletion
//! called off  canceled: its tombstones are void, like those without a record; the deletion removes
//!             them itself, or the background runner does if its call has ended
//! sweeping    applied: readers do not see what it deletes, which is being removed
//! ```
//!
//! A deletion that fits into one transaction never leaves `marking`: the transaction that deletes
//! the entities removes the record too. This file only creates actions.

use keyloom_model::attribute::{DELETION, PARTITION};
use keyloom_model::{EntityKey, Layout, OwnRow, RowKey};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::{Delete, Put, TableName, TransactAction, UpdateItem};
use keyloom_value::{Condition, Item, Path, Update, Value};

use super::PlannedAction;
use super::plan::as_read;

/// The partition keys of the entities from which everything marked can be reached, the entity to
/// delete first.
const ROOTS: &str = "roots";
/// How many entities and references are left to remove.
pub(crate) const LEFT: &str = "left";
/// How many there were in total.
pub(crate) const TOTAL: &str = "total";
/// The own row of the entity to delete.
pub(crate) const ROOT: &str = "root";

/// A deletion, by the id of its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeletionRecord {
    id: String,
}

impl DeletionRecord {
    pub(crate) fn new(id: impl Into<String>) -> DeletionRecord {
        DeletionRecord { id: id.into() }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn key(&self) -> Item {
        deletion_key(&self.id).to_item()
    }

    /// Whether a row carries its tombstone.
    pub(crate) fn has_marked(&self, row: &OwnRow) -> bool {
        row.deletion.as_ref() == Some(&self.id)
    }

    /// Creates the record.
    pub(crate) fn create(&self, table: &TableName, roots: Value) -> PlannedAction {
        self.put(table, roots, Condition::missing(PARTITION))
    }

    /// Rewrites the record with more roots, unless it is canceled.
    pub(crate) fn extend(&self, table: &TableName, roots: Value) -> PlannedAction {
        self.put(table, roots, is_in(DeletionState::Marking))
    }

    fn put(&self, table: &TableName, roots: Value, when: Condition) -> PlannedAction {
        let mut item = self.key();
        item.insert(DeletionState::ATTRIBUTE, DeletionState::Marking.to_value());
        item.insert(ROOTS, roots);
        PlannedAction::or_changed(TransactAction::Put(Put::new(table, item).when(when)))
    }

    /// Removes the record if it is in this state.
    pub(crate) fn remove(&self, table: &TableName, state: DeletionState) -> PlannedAction {
        let delete = Delete::new(table, self.key()).when(is_in(state));
        PlannedAction::or_changed(TransactAction::Delete(delete))
    }

    /// Cancels the deletion, unless it was applied.
    pub(crate) fn call_off(&self, table: &TableName) -> PlannedAction {
        let state = DeletionState::CalledOff.to_value();
        let update = Update::new().set(Path::from(DeletionState::ATTRIBUTE), state);
        self.update(table, update, DeletionState::Marking)
    }

    /// Applies the deletion: this one write hides everything marked. The record keeps the own row of
    /// the root for the feed.
    pub(crate) fn happen(&self, table: &TableName, root: Option<Item>) -> PlannedAction {
        let state = DeletionState::Sweeping.to_value();
        let mut update = Update::new().set(Path::from(DeletionState::ATTRIBUTE), state);
        if let Some(root) = root {
            update = update.set(Path::from(ROOT), Value::M(root));
        }
        self.update(table, update, DeletionState::Marking)
    }

    /// Adds to the number of marked entities, unless the deletion is canceled.
    pub(crate) fn add_marked(&self, table: &TableName, count: usize) -> PlannedAction {
        let count = Value::from(i64::try_from(count).unwrap_or(i64::MAX));
        let update = Update::new().add(Path::from(TOTAL), count.clone());
        self.update(table, update.add(Path::from(LEFT), count), DeletionState::Marking)
    }

    /// Subtracts from the number that is left, while the deletion is being swept.
    pub(crate) fn subtract_done(&self, table: &TableName, count: usize) -> PlannedAction {
        let change = -i64::try_from(count).unwrap_or(i64::MAX);
        let update = Update::new().add(Path::from(LEFT), Value::from(change));
        self.update(table, update, DeletionState::Sweeping)
    }

    fn update(&self, table: &TableName, update: Update, when: DeletionState) -> PlannedAction {
        let update = UpdateItem::new(table, self.key(), update).when(is_in(when));
        PlannedAction::or_changed(TransactAction::Update(update))
    }

    /// Marks the own row of an entity, if it is unchanged since it was read.
    pub(crate) fn mark(&self, table: &TableName, key: RowKey, row: &OwnRow) -> PlannedAction {
        let mark = Update::new().set(Path::from(DELETION), Value::from(self.id.as_str()));
        let update = UpdateItem::new(table, key.to_item(), mark).when(as_read(row));
        PlannedAction::or_changed(TransactAction::Update(update))
    }

    /// Removes its tombstone from a row.
    pub(crate) fn unmark(&self, table: &TableName, key: RowKey) -> PlannedAction {
        let is_marked = Condition::equal(Path::from(DELETION), Value::from(self.id.as_str()));
        let remove = Update::new().remove(Path::from(DELETION));
        let update = UpdateItem::new(table, key.to_item(), remove).when(is_marked);
        PlannedAction::or_changed(TransactAction::Update(update))
    }
}

/// Encodes the roots of a record.
pub(crate) fn write_roots(layout: &Layout, roots: &[EntityKey]) -> Value {
    let root = |key| Value::B(layout.entity_partition(key).into_vec());
    Value::L(roots.iter().map(root).collect())
}

/// Decodes the roots of a record.
pub(crate) fn read_roots(layout: &Layout, record: &Item) -> Vec<EntityKey> {
    let Some(Value::L(roots)) = record.get(ROOTS) else { return vec![] };
    roots.iter().filter_map(|root| layout.entity_key(root.as_b()?)).collect()
}

fn is_in(state: DeletionState) -> Condition {
    Condition::equal(Path::from(DeletionState::ATTRIBUTE), state.to_value())
}
