//! A page of entities, and rows as the records that are on it.

use std::sync::Arc;

use keyloom_model::OwnRow;
use keyloom_query::{End, ReadCost};
use keyloom_store::yield_point;
use serde::de::DeserializeOwned;

use crate::Record;
use crate::error::Error;
use crate::schema::Schema;

/// A page of entities.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, End};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
/// # pollster::block_on(async {
/// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
/// for name in ["cook", "read", "sleep"] {
///     db.create("task", &json!({ "name": name })).await?;
/// }
/// let query = db.list("task", "all").limit(2);
/// let first = query.read().await?;
/// assert_eq!((first.items.len(), first.end), (2, End::Limit));
/// let second = query.clone().after(first.next.expect("there is more")).read().await?;
/// assert_eq!((second.items.len(), second.end), (1, End::Exhausted));
/// // Back to the first page.
/// let back = query.before(second.previous.expect("it is not the first")).read().await?;
/// assert_eq!(back.items, first.items);
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    /// In the requested order.
    pub items: Vec<Record>,
    /// The cursor of the next page; absent on the last page.
    pub next: Option<String>,
    /// The cursor of the previous page; absent on the first page, and on pages of children.
    pub previous: Option<String>,
    /// Why the page ends here.
    pub end: End,
    /// What was read for it.
    pub read: ReadCost,
}

impl Page {
    /// Returns the entities as a type of yours.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// #[derive(serde::Deserialize)]
    /// struct Task {
    ///     name: String,
    /// }
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// let tasks: Vec<Task> = db.list("task", "all").read().await?.to()?;
    /// assert_eq!(tasks[0].name, "cook");
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Record::to`].
    pub fn to<T: DeserializeOwned>(&self) -> Result<Vec<T>, Error> {
        self.items.iter().map(Record::to).collect()
    }
}

pub(crate) fn record(schema: &Arc<Schema>, row: OwnRow) -> Record {
    Record::new(schema, schema.layouts.upgraded(row))
}

pub(crate) async fn records(schema: &Arc<Schema>, rows: Vec<OwnRow>) -> Vec<Record> {
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        yield_point().await;
        records.push(record(schema, row));
    }
    records
}
