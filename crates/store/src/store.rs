//! The traits that every store implements.

use std::sync::Arc;

use keyloom_value::Item;

use crate::limits::GLOBAL_INDEXES_MAX;
use crate::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, Delete, Get, IndexedItems,
    Page, Put, Query, ReadChanges, Scan, SeqNo, Sets, Shard, TableDescription, TableName,
    TableSpec, TransactGet, TransactWrite, UpdateItem,
};

/// Reading: a store, each call at its own point in time, or a snapshot.
///
/// Implementors MUST
/// - refuse an invalid request before reading anything, with the [`Invalid`](crate::Invalid) that
///   says why;
/// - return items of a query in the order of the index key, then the table key;
/// - evaluate at most `limit` items and at most 1 MB a page, counted before the filter, and set
///   `last_key` whenever they stopped for one of these;
/// - accept any `last_key` they returned as `start`, also when its item has gone since.
pub trait Read: Send + Sync {
    /// Lists all tables, sorted by name.
    fn list_tables(&self) -> Answer<'_, Vec<TableName>>;
    /// Describes the current state of a table.
    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription>;
    /// Returns one item, if it exists.
    fn get(&self, get: Get) -> Answer<'_, Option<Item>>;
    /// Returns one page of a partition.
    fn query(&self, query: Query) -> Answer<'_, Page>;
    /// Returns one page of a whole table or index.
    fn scan(&self, scan: Scan) -> Answer<'_, Page>;
    /// Returns many items.
    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot>;
    /// Returns many items at one point in time, in the order of the request.
    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>>;
    /// Returns the sets of the store, if it supports them.
    fn sets(&self) -> Option<&dyn Sets> {
        None
    }
    /// Returns the store's reads through indexes, if it supports them.
    fn indexed_items(&self) -> Option<&dyn IndexedItems> {
        None
    }
    /// The point in time that all calls read, in a snapshot: the sequence number after every change
    /// that it contains.
    fn as_of(&self) -> Option<SeqNo> {
        None
    }
    /// Whether all calls read the same point in time, so that their results are consistent.
    fn is_snapshot(&self) -> bool {
        self.as_of().is_some()
    }
}

/// A store: tables of items.
///
/// Implementors MUST
/// - make each write, and each transaction, visible whole or not at all, and linearizable;
/// - answer a write only when a crash cannot undo it (unless their user chose otherwise);
/// - keep every index consistent with its table's items, at every point in time that a reader can see;
/// - have each change of a table with a feed in it once, in commit order.
///
/// A dropped future does not undo a write that has begun.
pub trait Store: Read {
    /// Creates a table; it is usable when this returns.
    fn create_table(&self, spec: TableSpec) -> Answer<'_, TableDescription>;
    /// Alters a table in use.
    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription>;
    /// Drops a table with everything in it; returns its last description.
    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription>;
    /// Creates or replaces an item; returns the requested image.
    fn put(&self, put: Put) -> Answer<'_, Option<Item>>;
    /// Updates an item; returns the requested image.
    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>>;
    /// Deletes an item; returns the requested image.
    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>>;
    /// Writes many items; returns what was not written and should be sent again.
    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite>;
    /// Writes many items atomically.
    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()>;
    /// Returns a snapshot, for consistent reads in several steps. Stores without snapshots return
    /// an error.
    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>>;
    /// Returns the shards of a table's feed, each after its parent.
    fn shards(&self, table: TableName) -> Answer<'_, Vec<Shard>>;
    /// Returns changes of a table.
    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage>;
    /// Waits until there may be changes after this one. `None` if the store cannot tell: then its feed
    /// must be polled.
    fn when_changed(&self, _after: SeqNo) -> Option<Answer<'_, ()>> {
        None
    }
    /// Returns a number that identifies this opening of the store, if no other process can have it
    /// open: work that an earlier opening began and did not finish is then certainly abandoned.
    /// `None` if processes share the store.
    ///
    /// Implementors MUST NOT return a number again that an earlier opening which made a write has
    /// returned.
    fn opening(&self) -> Option<u64> {
        None
    }
    /// The maximum number of global indexes of a table: DynamoDB's, unless a store allows more.
    fn indexes_max(&self) -> usize {
        GLOBAL_INDEXES_MAX
    }
    /// Whether transactions can add to numbers ([`AddNumber`](crate::AddNumber)).
    fn adds_numbers(&self) -> bool {
        false
    }
}
