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
