//! Work rows: the entities that an operation has found and not handled yet.
//!
//! ```text
//! ("m", "bulk-work", operation) / id of the entity
//! ```

use keyloom_model::RowKey;
use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_store::{Delete, Page, Put, Query, Select, TransactAction};
use keyloom_value::{Item, KeyBytes, KeyCondition, Value};

use crate::error::Error;
use crate::shared::Shared;
use crate::write::PlannedAction;

const NAME: &str = "bulk-work";

/// The work rows of one operation.
#[derive(Clone, Copy)]
pub(super) struct WorkRows<'w> {
    shared: &'w Shared,
    operation: &'w str,
}

impl<'w> WorkRows<'w> {
    pub(super) fn new(shared: &'w Shared, operation: &'w str) -> WorkRows<'w> {
        WorkRows { shared, operation }
    }

    /// The ids of the first entities.
    pub(super) async fn first(self, limit: u32) -> Result<Vec<String>, Error> {
        let query = Query { limit: Some(limit), ..self.query() };
        let page: Page = self.shared.store.query(query).await?;
        let id = |row: &Item| match &KeyBytes::decode(row.get(SORT)?.as_b()?).ok()?[..] {
            [Value::S(id)] => Some(id.clone()),
            _ => None,
        };
        let ids = page.items.iter().map(|row| id(row).ok_or_else(|| self.damaged()));
        ids.collect()
    }

    /// The number of entities. Reads every row.
    pub(super) async fn count(self) -> Result<u64, Error> {
        let (mut query, mut count) = (Query { select: Select::Count, ..self.query() }, 0);
        loop {
            let page = self.shared.store.query(query.clone()).await?;
            count += page.count;
            match page.last_key {
                None => return Ok(count),
                start => query.start = start,
            }
        }
    }

    pub(super) fn put(self, id: &str) -> PlannedAction {
        let put = Put::new(&self.shared.table, self.key(id).to_item());
        PlannedAction::piggybacked(TransactAction::Put(put))
    }

    pub(super) fn removal(self, id: &str) -> PlannedAction {
        let delete = Delete::new(&self.shared.table, self.key(id).to_item());
        PlannedAction::piggybacked(TransactAction::Delete(delete))
    }

    fn query(self) -> Query {
        let partition = self.key("").partition.into_vec();
        Query::new(&self.shared.table, KeyCondition::equal(PARTITION, partition))
    }

    fn key(self, id: &str) -> RowKey {
        let mut sort = KeyBytes::new();
        sort.push_text(id);
        RowKey { sort, ..RowKey::system_alone(NAME, self.operation.as_bytes()) }
    }

    fn damaged(self) -> Error {
        Error::damaged(format!("A row of the bulk operation `{}` is invalid.", self.operation))
    }
}
