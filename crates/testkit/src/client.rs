//! A store with blocking calls, and the steps that tests repeat.

use std::fmt::Debug;
use std::sync::Arc;

use keyloom_store::{
    Alteration, BatchGet, BatchGot, BatchWrite, Change, ChangePage, Delete, Error, FeedStart, Get,
    Page, Put, Query, Read, ReadChanges, Scan, Sets, ShardId, Store, TableDescription, TableName,
    TableSpec, TransactGet, TransactWrite, UpdateItem,
};
use keyloom_value::Item;
use pollster::block_on;

use crate::Subject;

/// Pages after which reading all pages counts as endless.
const WALK_PAGES_MAX: usize = 100_000;

/// A store with blocking calls. Methods named like the store's return its result; the others panic
/// on errors.
#[derive(Clone)]
pub struct Client {
    store: Arc<dyn Store>,
}

#[expect(missing_docs, reason = "each is the call of the same name in `Store` and `Read`")]
impl Client {
    pub fn create_table(&self, spec: TableSpec) -> Result<TableDescription, Error> {
        block_on(self.store.create_table(spec))
    }

    pub fn alter_table(
        &self,
        table: &TableName,
        change: Alteration,
    ) -> Result<TableDescription, Error> {
        block_on(self.store.alter_table(table.clone(), change))
    }

    pub fn drop_table(&self, table: &TableName) -> Result<TableDescription, Error> {
        block_on(self.store.drop_table(table.clone()))
    }

    pub fn list_tables(&self) -> Result<Vec<TableName>, Error> {
        block_on(self.store.list_tables())
    }

    pub fn describe_table(&self, table: &TableName) -> Result<TableDescription, Error> {
        block_on(self.store.describe_table(table.clone()))
    }

    pub fn get(&self, get: Get) -> Result<Option<Item>, Error> {
        block_on(self.store.get(get))
    }

    pub fn put(&self, put: Put) -> Result<Option<Item>, Error> {
        block_on(self.store.put(put))
    }

    pub fn update(&self, update: UpdateItem) -> Result<Option<Item>, Error> {
        block_on(self.store.update(update))
    }

    pub fn delete(&self, delete: Delete) -> Result<Option<Item>, Error> {
        block_on(self.store.delete(delete))
    }

    pub fn query(&self, query: Query) -> Result<Page, Error> {
        block_on(self.store.query(query))
    }

    pub fn scan(&self, scan: Scan) -> Result<Page, Error> {
        block_on(self.store.scan(scan))
    }

    pub fn batch_get(&self, batch: BatchGet) -> Result<BatchGot, Error> {
        block_on(self.store.batch_get(batch))
    }

    pub fn batch_write(&self, batch: BatchWrite) -> Result<BatchWrite, Error> {
        block_on(self.store.batch_write(batch))
    }

    pub fn transact_get(&self, transaction: TransactGet) -> Result<Vec<Option<Item>>, Error> {
        block_on(self.store.transact_get(transaction))
    }

    pub fn transact_write(&self, transaction: TransactWrite) -> Result<(), Error> {
        block_on(self.store.transact_write(transaction))
    }

    pub fn snapshot(&self) -> Result<Arc<dyn Read>, Error> {
        block_on(self.store.snapshot())
    }

    pub fn shards(&self, table: &TableName) -> Result<Vec<ShardId>, Error> {
        let shards = block_on(self.store.shards(table.clone()))?;
        Ok(shards.into_iter().map(|shard| shard.id).collect())
    }

    pub fn changes(&self, read: ReadChanges) -> Result<ChangePage, Error> {
        block_on(self.store.changes(read))
    }

    pub fn indexes_max(&self) -> usize {
        self.store.indexes_max()
    }

    pub fn adds_numbers(&self) -> bool {
        self.store.adds_numbers()
    }

    pub fn sets(&self) -> Option<&dyn Sets> {
        self.store.sets()
    }
}

impl Client {
    /// Creates a client of the subject's store.
    pub fn of(subject: &dyn Subject) -> Client {
        Client { store: subject.store() }
    }

    /// Creates a table; returns its name.
    #[track_caller]
    pub fn make(&self, spec: TableSpec) -> TableName {
        let name = spec.name.clone();
        accepted(self.create_table(spec));
        name
    }

    /// Puts items.
    #[track_caller]
    pub fn fill(&self, table: &TableName, items: impl IntoIterator<Item = Item>) {
        for item in items {
            accepted(self.put(Put::new(table, item)));
        }
    }

    /// Returns the item with the key.
    #[track_caller]
    pub fn read(&self, table: &TableName, key: Item) -> Option<Item> {
        accepted(self.get(Get::new(table, key)))
    }

    /// Deletes the item with the key.
    #[track_caller]
    pub fn remove(&self, table: &TableName, key: Item) {
        accepted(self.delete(Delete::new(table, key)));
    }

    /// Returns all pages of a query, from its start on.
    #[track_caller]
    pub fn walk_query(&self, query: &Query) -> Vec<Page> {
        walk(query.start.clone(), |start| self.query(Query { start, ..query.clone() }))
    }

    /// Returns all pages of a scan, from its start on.
    #[track_caller]
    pub fn walk_scan(&self, scan: &Scan) -> Vec<Page> {
        walk(scan.start.clone(), |start| self.scan(Scan { start, ..scan.clone() }))
    }

    /// Returns all items of a query.
    #[track_caller]
    pub fn query_items(&self, query: &Query) -> Vec<Item> {
        self.walk_query(query).into_iter().flat_map(|page| page.items).collect()
    }

    /// Returns all items of a scan.
    #[track_caller]
    pub fn scan_items(&self, scan: &Scan) -> Vec<Item> {
        self.walk_scan(scan).into_iter().flat_map(|page| page.items).collect()
    }

    /// Returns all changes in a table's feed, shard by shard, in pages of `limit`.
    #[track_caller]
    pub fn feed(&self, table: &TableName, limit: usize) -> Vec<Change> {
        self.feed_from(table, FeedStart::Oldest, limit)
    }

    /// Returns all changes of a table from a position in the feed on.
    #[track_caller]
    pub fn feed_from(&self, table: &TableName, start: FeedStart, limit: usize) -> Vec<Change> {
        let mut changes = Vec::new();
        for shard in accepted(self.shards(table)) {
            let mut start = start;
            loop {
                let shard = shard.clone();
                let read = ReadChanges { table: table.clone(), shard, start, limit };
                let page = accepted(self.changes(read));
                if page.changes.is_empty() {
                    break;
                }
                assert!(page.changes.len() <= limit, "a page of the feed keeps to its limit");
                start = FeedStart::After(page.next);
                changes.extend(page.changes);
            }
        }
        changes
    }
}

/// Returns the value; panics with the store's message if it refused.
#[track_caller]
pub(crate) fn accepted<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("the store refused: {error}"))
}

/// Asserts that the store refused, with exactly this error.
#[track_caller]
pub(crate) fn refused<T: Debug>(result: Result<T, Error>, expected: impl Into<Error>) {
    let found = result.expect_err("the store accepted what it must refuse");
    assert_eq!(debug_text(&found), debug_text(&expected.into()));
}

/// Formats an error for comparison, with all its data.
pub(crate) fn debug_text(error: &Error) -> String {
    format!("{error:?}")
}

#[track_caller]
fn walk(mut start: Option<Item>, ask: impl Fn(Option<Item>) -> Result<Page, Error>) -> Vec<Page> {
    let mut pages = Vec::new();
    loop {
        let page = accepted(ask(start.clone()));
        assert!(
            page.last_key.is_none() || page.last_key != start,
            "pages make progress: {start:?}"
        );
        start.clone_from(&page.last_key);
        pages.push(page);
        if start.is_none() {
            return pages;
        }
        assert!(pages.len() < WALK_PAGES_MAX, "paging ends");
    }
}
