//! What changes cost: the rows that they would write, and what that costs on DynamoDB.
//!
//! The cost rules: each 1 KB of the row, before or after, whichever is larger, is one write unit, also
//! for a check; a row that is added to an index or removed from it is another one; in a transaction all
//! count twice.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{ChunkKeys, Layout, RowName};
use keyloom_store::{Get, IndexSpec, TableSpec, TransactAction};
use keyloom_value::{Item, Value};

use crate::answer::Answer;
use crate::change::{Change, resolve};
use crate::db::Db;
use crate::write::{PlannedAction, PlannedDelta, WriteRequest};

/// Bytes of one write unit.
const UNIT_BYTES: u64 = 1024;
/// How often a unit counts in a transaction.
const TIMES: u64 = 2;
/// Stands for the stamp of a write: all are as long.
const STAMP: &str = "00000000000000000000000000";
/// Dollars for a million write units on demand, us-east-1, since November 2024.
const DOLLARS_PER_MILLION: f64 = 0.625;

/// One row that would be written.
///
/// [`Db::rehearse`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// The kind of row: `entity`, `guard`, `link`, `entry`, `delta` or `number`.
    pub what: &'static str,
    /// The action: `put`, `update`, `delete` or `check`.
    pub action: &'static str,
    /// The size of the row, before or after, whichever is larger, as DynamoDB counts it.
    pub bytes: u64,
    /// Rows of indexes that would be added or removed with it.
    pub index_rows: u64,
}

/// What changes would write.
///
/// [`Db::rehearse`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Writes {
    /// Rows of the table.
    pub rows: Vec<RowWrite>,
    /// Memberships in sets of tags, facets and lists that would be added or removed. DynamoDB has no
    /// sets: there, each is a row.
    pub sets: u64,
}

impl RowWrite {
    /// The cost on DynamoDB, in write units.
    pub fn write_units(&self) -> u64 {
        TIMES * (self.bytes.div_ceil(UNIT_BYTES).max(1) + self.index_rows)
    }
}

impl Writes {
    /// The cost of all of it on DynamoDB, in write units.
    pub fn write_units(&self) -> u64 {
        let rows: u64 = self.rows.iter().map(RowWrite::write_units).sum();
        rows + TIMES * self.sets
    }

    /// The cost in dollars, on demand.
    pub fn dollars(&self) -> f64 {
        self.write_units() as f64 * DOLLARS_PER_MILLION / 1e6
    }
}

impl Db {
    /// Returns what these changes would write if they were made now, together. Writes nothing.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Change, Db};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let change = Change::create("task", &json!({ "name": "cook" }))?;
    /// let writes = db.rehearse(vec![change]).await?;
    /// assert!(writes.rows.iter().any(|row| (row.what, row.action) == ("entity", "put")));
    /// println!("{} write units, {} dollars", writes.write_units(), writes.dollars());
    /// assert!(db.list("task", "all").read().await?.items.is_empty());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Db::transact`], as far as that is known without trying: a unique value that is taken is
    /// not.
    pub fn rehearse(&self, changes: Vec<Change>) -> Answer<'_, Writes> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let intents = resolve(changes, self.scope(&schema), &self.shared.stamps)?;
            let request = WriteRequest { user: self.user.clone(), ..WriteRequest::from(intents) };
            let plan = self.shared.executor(&schema).rehearse(&request).await?;
            let store = &*self.shared.store;
            let spec = store.describe_table(self.shared.table.clone()).await?.spec;
            let memberships = plan.postings.iter().map(|change| change.ordinals.len() as u64);
            let mut writes = Writes { rows: vec![], sets: memberships.sum() };
            let numbers = plan.counters.actions(store).await?;
            let delta = |delta: &PlannedDelta| delta.action(&self.shared.table, STAMP);
            let deltas: Vec<PlannedAction> = plan.deltas.iter().map(delta).collect();
            for planned in plan.actions.iter().chain(&deltas).chain(&numbers) {
                let (key, action) = key_of(&spec, &planned.action);
                let before = store.get(Get::new(&self.shared.table, key.clone())).await?;
                let after = planned_row(&planned.action, &key, before.as_ref());
                writes.rows.push(row_write(
                    &spec,
                    what(&schema.layouts.current, &key),
                    action,
                    after.as_ref(),
                    before.as_ref(),
                ));
            }
            Ok(writes)
        })
    }
}

fn key_of(spec: &TableSpec, action: &TransactAction) -> (Item, &'static str) {
    match action {
        TransactAction::Put(put) => (spec.key.of(&put.item), "put"),
        TransactAction::Update(update) => (update.key.clone(), "update"),
        TransactAction::Delete(delete) => (delete.key.clone(), "delete"),
        TransactAction::Check(check) => (check.key.clone(), "check"),
    }
}

/// The row after an action.
fn planned_row(action: &TransactAction, key: &Item, before: Option<&Item>) -> Option<Item> {
    match action {
        TransactAction::Put(put) => Some(put.item.clone()),
        TransactAction::Update(update) => update.update.apply(before.unwrap_or(key)).ok(),
        TransactAction::Check(_) => before.cloned(),
        TransactAction::Delete(_) => None,
    }
}

fn what(layout: &Layout, key: &Item) -> &'static str {
    let part = |name| key.get(name).and_then(Value::as_b).unwrap_or_default();
    match layout.row_name(part(PARTITION), part(SORT)) {
        Some(RowName::Own(_)) => "entity",
        Some(RowName::Guard { .. }) => "guard",
        Some(RowName::Link { .. }) => "link",
        Some(RowName::Presence { .. }) => "presence",
        Some(RowName::Posting { .. }) => "entry",
        Some(RowName::System) if ChunkKeys::is_delta(part(PARTITION)) => "delta",
        Some(RowName::Counter(_) | RowName::System) | None => "number",
    }
}

fn row_write(
    spec: &TableSpec,
    what: &'static str,
    action: &'static str,
    after: Option<&Item>,
    before: Option<&Item>,
) -> RowWrite {
    let size = |item: Option<&Item>| item.map_or(0, Item::size) as u64;
    let indexes = spec.indexes.iter();
    let index_rows = indexes.map(|index| match (place(index, before), place(index, after)) {
        (old, new) if old == new => 0,
        (Some(_), Some(_)) => 2,
        (_, _) => 1,
    });
    RowWrite { what, action, bytes: size(before).max(size(after)), index_rows: index_rows.sum() }
}

/// The index key of a row, if it is in the index.
fn place<'i>(index: &IndexSpec, item: Option<&'i Item>) -> Option<Vec<&'i Value>> {
    let item = item?;
    index.key.attributes().map(|attribute| item.get(attribute.name.as_str())).collect()
}
