//! How far a stream of a copy has come. Written in the transaction that writes the rows before it, on
//! condition that it is as it was read.
//!
//! ```text
//! ("m", "copy") / stream   after: a position of the source, ended, rows: how many were copied,
//!                          writes: how often this row was written
//! ```

use keyloom_model::RowKey;
use keyloom_store::{Check, Delete, Get, OnFailure, Put, Store, TableName, TransactAction};
use keyloom_value::{Condition, Item, Number, Path, Value};

use crate::error::Error;

const NAME: &str = "copy";
const AFTER: &str = "after";
const ENDED: &str = "ended";
const ROWS: &str = "rows";
const WRITES: &str = "writes";

/// How far a stream has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamPosition {
    /// The position in the source; none at the start.
    pub(super) after: Option<Item>,
    pub(super) is_ended: bool,
    /// How many portable rows were copied.
    pub(super) rows: u64,
    /// How often it was written.
    writes: u64,
}

impl StreamPosition {
    pub(super) async fn load(
        store: &dyn Store,
        table: &TableName,
        stream: u32,
    ) -> Result<StreamPosition, Error> {
        let row = store.get(Get::new(table, key(stream).to_item())).await?;
        // Positions are there from the beginning of a copy to its end.
        let Some(row) = row else { return Err(ended_elsewhere()) };
        StreamPosition::read(&row)
            .ok_or_else(|| Error::damaged("The position of an unfinished copy cannot be read."))
    }

    fn read(row: &Item) -> Option<StreamPosition> {
        let number = |name| {
            let number = row.get(name)?.as_n().and_then(Number::to_i64)?;
            u64::try_from(number).ok()
        };
        let after = match row.get(AFTER) {
            None => None,
            Some(Value::M(after)) => Some(after.clone()),
            Some(_) => return None,
        };
        let is_ended = row.get(ENDED) == Some(&Value::Bool(true));
        Some(StreamPosition { after, is_ended, rows: number(ROWS)?, writes: number(WRITES)? })
    }

    /// The position after so many more rows; none is the end.
    pub(super) fn next(&self, after: Option<Item>, rows: u64) -> StreamPosition {
        let is_ended = after.is_none();
        StreamPosition { after, is_ended, rows: self.rows + rows, writes: self.writes + 1 }
    }

    /// Whether another one was written right after this one.
    pub(super) fn is_followed_by(&self, other: &StreamPosition) -> bool {
        other.writes == self.writes + 1
    }

    /// Replaces this position with the next one, if this one is still stored.
    pub(super) fn advance(
        &self,
        next: &StreamPosition,
        table: &TableName,
        stream: u32,
    ) -> TransactAction {
        let as_read = Condition::equal(Path::from(WRITES), Value::from(self.writes));
        TransactAction::Put(Put::new(table, next.to_item(stream)).when(as_read))
    }

    /// The row of the position of a stream.
    pub(super) fn to_item(&self, stream: u32) -> Item {
        let mut item = key(stream).to_item();
        if let Some(after) = &self.after {
            item.insert(AFTER, Value::M(after.clone()));
        }
        item.insert(ENDED, self.is_ended);
        item.insert(ROWS, self.rows);
        item.insert(WRITES, self.writes);
        item
    }

    /// Checks that a stream has ended, and its copy has not.
    pub(super) fn check_ended(table: &TableName, stream: u32) -> TransactAction {
        let (table, key) = (table.clone(), key(stream).to_item());
        let condition = Condition::equal(Path::from(ENDED), Value::Bool(true));
        TransactAction::Check(Check { table, key, condition, on_failure: OnFailure::Nothing })
    }

    /// Removes the position of a stream.
    pub(super) fn remove(table: &TableName, stream: u32) -> TransactAction {
        TransactAction::Delete(Delete::new(table, key(stream).to_item()))
    }
}

/// The error of a process whose copy is over.
pub(super) fn ended_elsewhere() -> Error {
    let reason = "The copy was finished or removed by another process: check the target.";
    Error::Copy { reason: reason.to_owned() }
}

fn key(stream: u32) -> RowKey {
    RowKey::system(NAME, &[Value::from(u64::from(stream))])
}
