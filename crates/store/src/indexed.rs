//! Items through an index: the rows of an index and the items that they lead to, in one call. A
//! primitive that not every store has: on DynamoDB it takes a query of a global index, and a batch of
//! gets.

use keyloom_value::{Item, KeyCondition};

use crate::{Answer, Direction, IndexName, TableName};

/// Reads the items of a partition of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadItems {
    /// The table.
    pub table: TableName,
    /// The index.
    pub index: IndexName,
    /// The partition and, without prefixes, the range in it.
    pub key: KeyCondition,
    /// If there are any, only rows whose first sort attribute begins with one of these bytes. They are in
    /// the order of reading, and none of them begins with another.
    pub prefixes: Vec<Vec<u8>>,
    /// The order of the sort key.
    pub direction: Direction,
    /// Maximum number of items to read.
    pub limit: u32,
    /// The last item to read is the one with which the items have this size, as DynamoDB counts it.
    pub bytes_max: u64,
}

/// Items in the order of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemsPage {
    /// The items, as the table has them. At least one if there are any.
    pub items: Vec<Item>,
    /// The key attributes, of the index and of the table, of the first item that was not read; `None` if
    /// nothing is left.
    pub next: Option<Item>,
    /// Size of the items, as DynamoDB counts it.
    pub item_bytes: u64,
    /// Size of the index rows read: those of the items, and of `next`.
    pub row_bytes: u64,
}

impl ItemsPage {
    /// Returns the number of index rows read.
    pub fn rows(&self) -> u64 {
        self.items.len() as u64 + u64::from(self.next.is_some())
    }
}

/// Reading items through indexes.
///
/// Implementors MUST read index and items at the same point in time, so every row of the index leads
/// to an item.
pub trait IndexedItems: Send + Sync {
    /// Returns the items of a partition of an index.
    fn read_items(&self, read: ReadItems) -> Answer<'_, ItemsPage>;
}
