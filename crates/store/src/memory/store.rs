//! The memory store as a [`Store`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyloom_value::Item;

use super::state::State;
use super::{column, indexed, page, set};
use crate::limits::OWN_GLOBAL_INDEXES_MAX;
use crate::signal::Signal;
use crate::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, Clock, ColumnPart, Delete, Get,
    IndexedItems, ItemsPage, ListSets, Page, Put, Query, Read, ReadChanges, ReadColumn, ReadItems,
    ReadSet, Scan, SeqNo, SetName, SetPart, SetSize, Sets, Shard, Store, TableDescription,
    TableName, TableSpec, Time, TransactGet, TransactWrite, UpdateItem,
};

/// A store in memory that is obviously correct.
///
/// Every call takes one lock and scans every item of its table: O(n) per call, O(n log n) per page.
/// Nothing survives the process. Expired items stay until [`MemoryStore::expire`], and the change
/// feed is never trimmed.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Whether nothing changes any more.
    is_frozen: bool,
    /// Notified after every write.
    feed: Signal,
}

impl MemoryStore {
    /// Creates a store without tables.
    pub fn new(clock: Arc<dyn Clock>) -> MemoryStore {
        MemoryStore { clock, state: Mutex::default(), is_frozen: false, feed: Signal::default() }
    }

    /// Deletes the items whose time to live has ended; returns how many.
    pub fn expire(&self) -> usize {
        // Only existing tables are visited, so this cannot fail.
        self.write(State::expire).unwrap_or_default()
    }

    fn write<T>(&self, write: impl FnOnce(&mut State, Time) -> T) -> T {
        let done = write(&mut self.state(), self.clock.now());
        self.feed.notify();
        done
    }

    /// Ignores poisoning: a call that panicked has either changed nothing yet or finished.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for MemoryStore {
    fn as_of(&self) -> Option<SeqNo> {
        self.is_frozen.then(|| self.state().newest())
    }

    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        Box::pin(async move { Ok(self.state().tables.keys().cloned().collect()) })
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        Box::pin(async move { Ok(self.state().table(&table)?.description()) })
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(async move { self.state().get(&get) })
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move { page::query(self.state().table(&query.table)?, &query) })
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(async move { page::scan(self.state().table(&scan.table)?, &scan) })
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        Box::pin(async move { self.state().batch_get(&batch) })
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(async move { self.state().transact_get(&transaction) })
    }

    fn sets(&self) -> Option<&dyn Sets> {
        Some(self)
    }

    fn indexed_items(&self) -> Option<&dyn IndexedItems> {
        Some(self)
    }
}

impl IndexedItems for MemoryStore {
    fn read_items(&self, read: ReadItems) -> Answer<'_, ItemsPage> {
        Box::pin(async move { indexed::read(self.state().table(&read.table)?, &read) })
    }
}

impl Sets for MemoryStore {
    fn set_sizes(&self, table: TableName, sets: Vec<SetName>) -> Answer<'_, Vec<u64>> {
        Box::pin(async move {
            let state = self.state();
            let table = state.table(&table)?;
            let size = |set: &SetName| table.sets.get(set).map_or(0, |set| set.len() as u64);
            Ok(sets.iter().map(size).collect())
        })
    }

    fn read_set(&self, read: ReadSet) -> Answer<'_, SetPart> {
        Box::pin(async move { Ok(set::read(&self.state().table(&read.table)?.sets, &read)?) })
    }

    fn list_sets(&self, list: ListSets) -> Answer<'_, Vec<SetSize>> {
        Box::pin(async move { Ok(set::list(&self.state().table(&list.table)?.sets, &list)?) })
    }

    fn read_column(&self, read: ReadColumn) -> Answer<'_, ColumnPart> {
        Box::pin(async move { column::read(self.state().table(&read.table)?, &read) })
    }
}

impl Store for MemoryStore {
    fn create_table(&self, spec: TableSpec) -> Answer<'_, TableDescription> {
        Box::pin(async move { self.state().create(spec, self.clock.now()) })
    }

    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription> {
        Box::pin(async move { self.state().alter(&table, change) })
    }

    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        Box::pin(async move { self.state().drop_table(&table) })
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        Box::pin(async move { self.write(|state, now| state.put(put, now)) })
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        Box::pin(async move { self.write(|state, now| state.update(update, now)) })
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        Box::pin(async move { self.write(|state, now| state.delete(delete, now)) })
    }

    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite> {
        Box::pin(async move { self.write(|state, now| state.batch_write(&batch, now)) })
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        Box::pin(async move { self.write(|state, now| state.transact_write(transaction, now)) })
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async move {
            let state = Mutex::new(self.state().clone());
            let (clock, feed) = (self.clock.clone(), Signal::default());
            let frozen: Arc<dyn Read> =
                Arc::new(MemoryStore { clock, state, is_frozen: true, feed });
            Ok(frozen)
        })
    }

    fn when_changed(&self, after: SeqNo) -> Option<Answer<'_, ()>> {
        let has_changed = move || self.state().newest() > after;
        Some(Box::pin(async move {
            self.feed.wait_until(has_changed).await;
            Ok(())
        }))
    }

    fn adds_numbers(&self) -> bool {
        true
    }

    fn indexes_max(&self) -> usize {
        OWN_GLOBAL_INDEXES_MAX
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<Shard>> {
        Box::pin(async move { self.state().shards(&table) })
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        Box::pin(async move { self.state().changes(&read) })
    }
}
