//! The record of a copy: the row that says that a table is not complete. It is beside the rows of the
//! model, so opening a database reads it anyway.
//!
//! ```text
//! ("m", "model") / "copy"   source: its identity, streams: how many there are
//! ```

use keyloom_model::attribute::PARTITION;
use keyloom_store::{Delete, TableName, TransactAction};
use keyloom_value::{Condition, Item, Number, Path, Value};

use crate::schema::copy_key;

const SOURCE: &str = "source";
const STREAMS: &str = "streams";

/// The record of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CopyRecord {
    /// The identity of the source.
    pub(super) source: String,
    pub(super) streams: u32,
}

impl CopyRecord {
    pub(super) fn to_item(&self) -> Item {
        let mut item = copy_key().to_item();
        item.insert(SOURCE, self.source.as_str());
        item.insert(STREAMS, u64::from(self.streams));
        item
    }

    pub(super) fn read(row: &Item) -> Option<CopyRecord> {
        let streams = row.get(STREAMS)?.as_n().and_then(Number::to_i64)?;
        let source = row.get(SOURCE)?.as_s()?.to_owned();
        Some(CopyRecord { source, streams: u32::try_from(streams).ok()? })
    }

    /// Removes the record, if it is still this one.
    pub(super) fn remove(&self, table: &TableName) -> TransactAction {
        let is_mine = Condition::equal(Path::from(SOURCE), Value::from(self.source.as_str()));
        let delete = Delete::new(table, copy_key().to_item());
        TransactAction::Delete(delete.when(Condition::exists(PARTITION).and(is_mine)))
    }
}
