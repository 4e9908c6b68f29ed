//! Reads all rows of one partition of system rows: models, checkpoints, workers, deletion records.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_store::{Delete, Error as StoreError, Query, Store, TableName};
use keyloom_value::{Item, KeyBytes, KeyCondition, Name};

use crate::error::Error;

/// Returns the rows of a partition, in the order of their sort keys.
pub(crate) async fn system_rows(
    store: &dyn Store,
    table: &TableName,
    partition: KeyBytes,
) -> Result<Vec<Item>, Error> {
    let is_in_partition = KeyCondition::equal(PARTITION, partition.into_vec());
    let mut query = Query::new(table, is_in_partition);
    let mut rows = vec![];
    loop {
        let page = store.query(query.clone()).await?;
        rows.extend(page.items);
        match page.last_key {
            None => return Ok(rows),
            start => query.start = start,
        }
    }
}

/// The key of a row, to change or remove it.
pub(crate) fn key_of(row: &Item) -> Item {
    let key = [PARTITION, SORT].into_iter();
    key.filter_map(|name| Some((Name::from(name), row.get(name)?.clone()))).collect()
}

/// Removes a row, unless its condition fails: another process has changed or removed it.
pub(crate) async fn delete_if(store: &dyn Store, delete: Delete) -> Result<(), Error> {
    match store.delete(delete).await {
        Ok(_) | Err(StoreError::ConditionFailed { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
