//! The table that contains everything.

use keyloom_model::attribute::{EXPIRY, PARTITION, SORT};
use keyloom_model::{Direction, Layout, Matching, Slot};
use keyloom_store::{
    Alteration, ColumnSpec, Error as StoreError, Feed, IndexProjection, IndexScope, IndexSpec,
    KeySchema, KeyType, Store, TableName, TableSpec,
};
use keyloom_value::Item;

use crate::error::Error;

/// The table of a model on a store without sets.
pub(crate) fn table_of(model: &str, table: &str) -> Result<TableSpec, Error> {
    let model = keyloom_model::check(model).map_err(Error::Model)?;
    let table = TableName::new(table).map_err(StoreError::from)?;
    let spec = table_spec(&table, &Layout::new(model, 1, &Item::new()).keeping(Matching::Chunks))?;
    spec.check()?;
    Ok(spec)
}

fn table_spec(table: &TableName, layout: &Layout) -> Result<TableSpec, Error> {
    let key = KeySchema::partition(PARTITION, KeyType::B).and_sort(SORT, KeyType::B);
    let mut spec = TableSpec::new(table.clone(), key);
    spec.indexes = indexes(layout)?;
    spec.columns = columns(layout)?;
    spec.ttl = Some(EXPIRY.into());
    spec.feed = Feed::Images;
    Ok(spec)
}

/// Creates the table, or adds what it lacks for a layout: indexes, columns, expiry of idempotency
/// records.
pub(crate) async fn ensure_table(
    store: &dyn Store,
    table: &TableName,
    layout: &Layout,
) -> Result<(), Error> {
    let spec = table_spec(table, layout)?;
    let (needed, limit) = (spec.indexes.len(), store.indexes_max());
    if needed > limit {
        return Err(Error::TooManyIndexes { needed, limit });
    }
    let described = match store.describe_table(table.clone()).await {
        Ok(described) => described,
        Err(StoreError::TableNotFound { .. }) => {
            return match store.create_table(spec).await {
                // Another process has done it.
                Ok(_) | Err(StoreError::TableExists { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            };
        }
        Err(error) => return Err(error.into()),
    };
    if described.spec.ttl.as_ref().is_none_or(|there| there.as_str() != EXPIRY) {
        store.alter_table(table.clone(), Alteration::SetTtl(Some(EXPIRY.into()))).await?;
    }
    let TableSpec { indexes, columns, .. } = spec;
    for index in indexes {
        if described.spec.indexes.iter().all(|there| there.name != index.name) {
            store.alter_table(table.clone(), Alteration::AddIndex(index)).await?;
        }
    }
    let there = &described.spec.columns;
    for gone in there.iter().filter(|there| columns.iter().all(|column| column.name != there.name))
    {
        store.alter_table(table.clone(), Alteration::DropColumn(gone.name.clone())).await?;
    }
    for column in columns {
        if described.spec.columns.iter().all(|there| there.name != column.name) {
            store.alter_table(table.clone(), Alteration::AddColumn(column)).await?;
        }
    }
    Ok(())
}

fn indexes(layout: &Layout) -> Result<Vec<IndexSpec>, Error> {
    let index = |slot: Slot| {
        Ok(IndexSpec {
            name: TableName::new(&slot.name()).map_err(StoreError::from)?,
            scope: IndexScope::Global,
            key: KeySchema::partition(slot.partition().as_str(), KeyType::B)
                .and_sort(slot.sort().as_str(), KeyType::B),
            projection: IndexProjection::Keys,
        })
    };
    (0..u8::MAX).take(layout.slot_count()).map(|number| index(Slot::new(number))).collect()
}

fn columns(layout: &Layout) -> Result<Vec<ColumnSpec>, Error> {
    let column = |column: keyloom_model::Column| {
        Ok(ColumnSpec {
            name: TableName::new(&column.name).map_err(StoreError::from)?,
            partition: column.partition,
            prefix: column.prefix.into_vec(),
            ordinal: column.ordinal,
            value: column.value,
            parts: column.order.into_iter().map(part).collect(),
        })
    };
    layout.lists().columns().into_iter().map(column).collect()
}

fn part(direction: Direction) -> keyloom_store::Direction {
    match direction {
        Direction::Ascending => keyloom_store::Direction::Forward,
        Direction::Descending => keyloom_store::Direction::Backward,
    }
}
