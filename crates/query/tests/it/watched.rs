//! Stores that count requests: one behaves as badly as the contract allows, one reads entities with
//! their index rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyloom_store::{
    Answer, BatchGet, BatchGot, Get, IndexedItems, ItemsPage, Page, Query, Read, ReadItems, Scan,
    Sets, Store, TableDescription, TableName, TransactGet,
};
use keyloom_value::Item;

/// A read-only store.
pub(crate) struct Watched {
    store: Arc<dyn Store>,
    /// Serves queries: an index may lag.
    indexes: Arc<dyn Read>,
    /// How many items of a batch are returned, the last ones first.
    pub(crate) batch_max: usize,
    gets: AtomicUsize,
    queries: AtomicUsize,
    batches: AtomicUsize,
}

impl Watched {
    /// Queries see the store as of this call.
    pub(crate) fn new(store: &Arc<dyn Store>) -> Watched {
        let indexes = pollster::block_on(store.snapshot()).unwrap();
        let (gets, queries, batches) = Default::default();
        Watched { store: store.clone(), indexes, batch_max: usize::MAX, gets, queries, batches }
    }

    /// Returns the number of gets, queries and batches since the last call.
    pub(crate) fn take_counts(&self) -> [usize; 3] {
        [&self.gets, &self.queries, &self.batches].map(|count| count.swap(0, Ordering::SeqCst))
    }
}

impl Read for Watched {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        self.store.list_tables()
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.store.describe_table(table)
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        self.store.get(get)
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        self.queries.fetch_add(1, Ordering::SeqCst);
        self.indexes.query(query)
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        panic!("nothing scans: {scan:?}")
    }

    fn batch_get(&self, mut batch: BatchGet) -> Answer<'_, BatchGot> {
        self.batches.fetch_add(1, Ordering::SeqCst);
        let left = batch.gets.len().saturating_sub(self.batch_max);
        let answered = BatchGet { gets: batch.gets.split_off(left) };
        if answered.gets.is_empty() {
            let got = BatchGot { items: vec![], unprocessed: batch.gets };
            return Box::pin(std::future::ready(Ok(got)));
        }
        let answer = self.store.batch_get(answered);
        Box::pin(async move {
            let mut got = answer.await?;
            got.items.reverse();
            got.unprocessed.extend(batch.gets);
            Ok(got)
        })
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        self.store.transact_get(transaction)
    }
}

/// A read-only store from which pages are read through its indexes only.
pub(crate) struct Indexed {
    store: Arc<dyn Store>,
    reads: AtomicUsize,
}

impl Indexed {
    pub(crate) fn new(store: &Arc<dyn Store>) -> Indexed {
        Indexed { store: store.clone(), reads: AtomicUsize::new(0) }
    }

    /// Returns the number of reads through an index since the last call.
    pub(crate) fn take_count(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst)
    }
}

impl Read for Indexed {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        self.store.list_tables()
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.store.describe_table(table)
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        panic!("no row is read alone: {get:?}")
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        panic!("no rows of an index are read without their items: {query:?}")
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        panic!("nothing scans: {scan:?}")
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        panic!("no rows are read by their keys: {batch:?}")
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        panic!("no rows are read by their keys: {transaction:?}")
    }

    fn sets(&self) -> Option<&dyn Sets> {
        self.store.sets()
    }

    fn indexed_items(&self) -> Option<&dyn IndexedItems> {
        Some(self)
    }
}

impl IndexedItems for Indexed {
    fn read_items(&self, read: ReadItems) -> Answer<'_, ItemsPage> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.store.indexed_items().unwrap().read_items(read)
    }
}
