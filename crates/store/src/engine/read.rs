//! Reads of a snapshot: gets, queries, scans.

use std::future::ready;

use keyloom_value::Item;

use crate::limits::BATCH_GET_BYTES_MAX;
use crate::slice::Interrupt;
use crate::{
    Answer, BatchGet, BatchGot, Error, Get, IndexDescription, IndexState, IndexedItems, ItemsPage,
    Page, Query, Read, ReadItems, Scan, SeqNo, Sets, TableDescription, TableName, TransactGet,
    validate,
};

use super::feed;
use super::format::{BuildState, NameCache, SpaceId, Stats, SystemKey, TableRecord};
use super::view::View;
use super::walk;

impl Read for View {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        Box::pin(ready(Ok(self.catalog.names().cloned().collect())))
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        Box::pin(ready(self.describe(&table)))
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(ready(self.get_item(&get)))
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(ready(walk::query(self, &query, &Interrupt::never())))
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(ready(walk::scan(self, &scan, &Interrupt::never())))
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        Box::pin(ready(self.get_batch(&batch, &Interrupt::never())))
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(ready(self.get_transaction(&transaction, &Interrupt::never())))
    }

    fn sets(&self) -> Option<&dyn Sets> {
        Some(self)
    }

    fn indexed_items(&self) -> Option<&dyn IndexedItems> {
        Some(self)
    }

    fn as_of(&self) -> Option<SeqNo> {
        Some(feed::end_of(self.applied))
    }
}

impl IndexedItems for View {
    fn read_items(&self, read: ReadItems) -> Answer<'_, ItemsPage> {
        Box::pin(ready(self.items_of_index(&read, &Interrupt::never())))
    }
}

impl View {
    pub(crate) fn get_item(&self, get: &Get) -> Result<Option<Item>, Error> {
        let table = self.catalog.table(&get.table)?;
        validate::get(&table.spec, get)?;
        let found = self.fetch(table, get, &mut NameCache::default())?;
        Ok(found.map(|item| project(get, item)))
    }

    /// Reads in the order of the request; returns what would exceed 16 MB as unprocessed.
    pub(crate) fn get_batch(
        &self,
        batch: &BatchGet,
        interrupt: &Interrupt,
    ) -> Result<BatchGot, Error> {
        validate::batch_get(batch, &|name| self.catalog.spec(name))?;
        let mut got = BatchGot::default();
        let (mut bytes, mut names) = (0, NameCache::default());
        for (index, get) in batch.gets.iter().enumerate().take_while(|_| !interrupt.fires()) {
            let table = self.catalog.table(&get.table)?;
            let Some(item) = self.fetch(table, get, &mut names)? else { continue };
            bytes += item.size();
            if bytes > BATCH_GET_BYTES_MAX {
                got.unprocessed = batch.gets[index..].to_vec();
                break;
            }
            got.items.push((get.table.clone(), project(get, item)));
        }
        Ok(got)
    }

    pub(crate) fn get_transaction(
        &self,
        transaction: &TransactGet,
        interrupt: &Interrupt,
    ) -> Result<Vec<Option<Item>>, Error> {
        validate::transact_get(transaction, &|name| self.catalog.spec(name))?;
        let mut items = Vec::with_capacity(transaction.gets.len());
        let (mut bytes, mut names) = (0, NameCache::default());
        for get in transaction.gets.iter().take_while(|_| !interrupt.fires()) {
            let item = self.fetch(self.catalog.table(&get.table)?, get, &mut names)?;
            bytes += item.as_ref().map_or(0, Item::size);
            items.push(item.map(|item| project(get, item)));
        }
        validate::transaction_bytes(bytes)?;
        Ok(items)
    }

    pub(crate) fn describe(&self, name: &TableName) -> Result<TableDescription, Error> {
        let table = self.catalog.table(name)?;
        let stats = self.stats(table.space)?;
        let indexes = table.spec.indexes.iter().map(|index| {
            let rows = table.index_rows(&index.name);
            let kept = rows.map(|rows| self.stats(rows.space)).transpose()?.unwrap_or_default();
            let state = match rows.map(|rows| &rows.build) {
                Some(BuildState::Building { done, .. }) => {
                    IndexState::Building { done: *done, total: stats.items }
                }
                Some(BuildState::Complete) | None => IndexState::Active,
            };
            let (items, bytes) = (kept.items, kept.bytes);
            Ok(IndexDescription { name: index.name.clone(), state, items, bytes })
        });
        Ok(TableDescription {
            spec: (*table.spec).clone(),
            created: table.created,
            items: stats.items,
            bytes: stats.bytes,
            indexes: indexes.collect::<Result<_, Error>>()?,
        })
    }

    pub(crate) fn stats(&self, space: SpaceId) -> Result<Stats, Error> {
        let row = self.tree.get(&SystemKey::Stats(space).row())?;
        let stats = row.map(|row| Stats::decode(row.value())).transpose();
        Ok(stats.map_err(|why| self.malformed(why))?.unwrap_or_default())
    }

    fn fetch(
        &self,
        table: &TableRecord,
        get: &Get,
        names: &mut NameCache,
    ) -> Result<Option<Item>, Error> {
        self.item_with_names(table.space, table.spec.key.encode(&get.key)?.as_bytes(), names)
    }
}

/// Applies the projection of a request.
fn project(get: &Get, item: Item) -> Item {
    match &get.projection {
        Some(projection) => projection.apply(&item),
        None => item,
    }
}
