//! The steps of a history.

use keyloom_store::{
    Alteration, BatchGet, BatchWrite, Delete, Get, Put, Query, Scan, TableName, TableSpec,
    TransactGet, TransactWrite, UpdateItem,
};

/// One step of a history: one call of a store, or all pages of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Creates a table.
    Create(TableSpec),
    /// Alters a table.
    Alter(TableName, Alteration),
    /// Drops a table.
    Drop(TableName),
    /// Puts an item.
    Put(Put),
    /// Updates an item.
    Update(UpdateItem),
    /// Deletes an item.
    Delete(Delete),
    /// Writes a batch.
    BatchWrite(BatchWrite),
    /// Writes a transaction.
    TransactWrite(TransactWrite),
    /// Sends the last transaction again, like a client that got no answer.
    Repeat,
    /// Reads.
    Read(ReadOp),
    /// Takes a snapshot, replacing the previous one.
    TakeSnapshot,
    /// Reads from the snapshot, if there is one.
    ReadSnapshot(ReadOp),
    /// Reads a table's feed to its end.
    Changes {
        /// The table.
        table: TableName,
        /// Page size.
        limit: usize,
        /// How many changes to skip.
        skip: usize,
    },
    /// Advances the clock, so that items can expire.
    Pass {
        /// How long.
        secs: u64,
    },
}

/// A step that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOp {
    /// Lists the tables.
    List,
    /// Describes a table.
    Describe(TableName),
    /// Gets an item.
    Get(Get),
    /// Reads all pages of a query.
    Query(Query),
    /// Reads all pages of a scan.
    Scan(Scan),
    /// Reads a batch.
    BatchGet(BatchGet),
    /// Reads many items at one point in time.
    TransactGet(TransactGet),
    /// Lists all sets of a table and reads each in both directions.
    Sets {
        /// The table.
        table: TableName,
        /// Page size, in sets or chunks.
        limit: u32,
        /// The ordinal to start from.
        from: u64,
    },
}
