//! What happens in a history.

use keyloom_store::{
    Alteration, BatchGet, BatchWrite, Delete, Get, Put, Query, Scan, TableName, TableSpec,
    TransactGet, TransactWrite, UpdateItem,
};

/// One step of a history. Each covers one call of a store, or a walk of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Makes a table.
    Create(TableSpec),
    /// Changes a table.
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
    /// Sends the last transaction again, as a client does that heard no answer.
    Repeat,
    /// Reads.
    Read(ReadOp),
    /// Takes a snapshot, instead of the one before.
    TakeSnapshot,
    /// Reads in the snapshot, if there is one.
    ReadSnapshot(ReadOp),
    /// Reads a table's feed to its end.
    Changes {
        /// The table.
        table: TableName,
        /// How many changes a call returns at most.
        limit: usize,
        /// After how many changes to begin.
        skip: usize,
    },
    /// Lets time pass, and what has expired go.
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
    /// Walks a query to its end, page by page.
    Query(Query),
    /// Walks a scan to its end, page by page.
    Scan(Scan),
    /// Reads a batch.
    BatchGet(BatchGet),
    /// Reads many items of one moment.
    TransactGet(TransactGet),
    /// Finds all sets of a table and walks each to its end, in both directions.
    Sets {
        /// The table.
        table: TableName,
        /// How many sets, or chunks of a set, a call returns at most.
        limit: u32,
        /// From which ordinal on.
        from: u64,
    },
}
