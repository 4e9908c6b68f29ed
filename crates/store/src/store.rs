//! The traits every store implements.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom_value::Item;

use crate::{
    Alteration, BatchGet, BatchGot, BatchWrite, ChangePage, Delete, Error, Get, Page, Put, Query,
    ReadChanges, Scan, Sets, ShardId, TableDescription, TableName, TableSpec, TransactGet,
    TransactWrite, UpdateItem,
};

/// What a store's methods return: a future, boxed so that a store can be a `dyn Store`.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Reading: a store at each call's own moment, or a snapshot at one moment.
///
/// Implementors MUST
/// - refuse an invalid request before reading anything, with the [`Invalid`](crate::Invalid) that
///   says why;
/// - return items of a query in the order of the index key, then the table key;
/// - evaluate at most `limit` items and at most 1 MB a page, counted before the filter, and set
///   `last_key` whenever they stopped for one of these;
/// - accept any `last_key` they returned as `start`, also when its item has gone since.
pub trait Read: Send + Sync {
    /// The names of all tables, in order.
    fn list_tables(&self) -> Answer<'_, Vec<TableName>>;
    /// A table as it is now.
    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription>;
    /// One item, if it exists.
    fn get(&self, get: Get) -> Answer<'_, Option<Item>>;
    /// One page of a partition.
    fn query(&self, query: Query) -> Answer<'_, Page>;
    /// One page of a whole table or index.
    fn scan(&self, scan: Scan) -> Answer<'_, Page>;
    /// Many items.
    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot>;
    /// Many items of one moment, in the order of the request.
    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>>;
    /// The sets beside its items, if this store keeps any.
    fn sets(&self) -> Option<&dyn Sets> {
        None
    }
    /// Whether all calls see one moment, so that what several of them return fits together.
    fn is_snapshot(&self) -> bool {
        false
    }
}

/// A store: tables of items.
///
/// Implementors MUST
/// - make each write, and each transaction, visible whole or not at all, and linearizable;
/// - answer a write only when a crash cannot undo it (unless their user chose otherwise);
/// - keep every index equal to what its table's items imply, at every moment a reader can see;
/// - have each change of a table with a feed in it once, in commit order.
///
/// A dropped future does not undo a write that has begun.
pub trait Store: Read {
    /// Makes a table; it can be used when this returns.
    fn create_table(&self, spec: TableSpec) -> Answer<'_, TableDescription>;
    /// Changes a table in use.
    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription>;
    /// Drops a table with everything in it; returns what it was.
    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription>;
    /// Creates or replaces an item; returns the image asked for.
    fn put(&self, put: Put) -> Answer<'_, Option<Item>>;
    /// Updates an item; returns the image asked for.
    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>>;
    /// Deletes an item; returns the image asked for.
    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>>;
    /// Writes many items; returns what was not written and should be sent again.
    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite>;
    /// Writes many items together.
    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()>;
    /// The store at one moment, for reads of several steps. Stores that cannot hold a moment
    /// return an error that says so.
    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>>;
    /// The parts of a table's feed.
    fn shards(&self, table: TableName) -> Answer<'_, Vec<ShardId>>;
    /// Changes of a table.
    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage>;
    /// A number for this opening of the store, if no other process can have it open: what earlier
    /// openings have begun and not ended, nobody is at any more. None if processes share the store.
    ///
    /// Implementors MUST NOT return a number again after a write that an earlier opening with that
    /// number has made.
    fn opening(&self) -> Option<u64> {
        None
    }
    /// Whether transactions can add to numbers ([`AddNumber`](crate::AddNumber)).
    fn adds_numbers(&self) -> bool {
        false
    }
}
