//! Requests to a store, as plain data.

use keyloom_value::{Condition, Item, KeyCondition, Name, Number, Projection, Update};

use crate::{Direction, IndexName, KeySchema, SetChange, TableName};

/// How fresh a read must be. The embedded engine always reads strongly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// Sees every write acknowledged before.
    #[default]
    Strong,
    /// May lag; half the price on services that charge for reads.
    Eventual,
}

/// Reads one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Get {
    /// The table.
    pub table: TableName,
    /// Exactly the key attributes.
    pub key: Item,
    /// What to return of the item; all of it by default.
    pub projection: Option<Projection>,
    /// How fresh the read must be.
    pub consistency: Consistency,
}

/// Which image a write returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Returns {
    /// None.
    #[default]
    Nothing,
    /// The whole item before the write.
    AllOld,
    /// The updated attributes before the write. Updates only.
    UpdatedOld,
    /// The whole item after the write. Updates only.
    AllNew,
    /// The updated attributes after the write. Updates only.
    UpdatedNew,
}

/// Whether a failed condition returns the item that failed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnFailure {
    /// It returns nothing.
    #[default]
    Nothing,
    /// It returns the item.
    ReturnItem,
}

/// Creates or replaces one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The table.
    pub table: TableName,
    /// The whole item.
    pub item: Item,
    /// The condition on the stored item.
    pub condition: Option<Condition>,
    /// `Nothing` or `AllOld`.
    pub returns: Returns,
    /// What a failed condition returns.
    pub on_failure: OnFailure,
}

/// Changes parts of one item; creates it if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateItem {
    /// The table.
    pub table: TableName,
    /// Exactly the key attributes.
    pub key: Item,
    /// The changes.
    pub update: Update,
    /// The condition on the stored item.
    pub condition: Option<Condition>,
    /// Which image to return.
    pub returns: Returns,
    /// What a failed condition returns.
    pub on_failure: OnFailure,
}

/// Deletes one item; succeeds if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The table.
    pub table: TableName,
    /// Exactly the key attributes.
    pub key: Item,
    /// The condition on the stored item.
    pub condition: Option<Condition>,
    /// `Nothing` or `AllOld`.
    pub returns: Returns,
    /// What a failed condition returns.
    pub on_failure: OnFailure,
}

/// Checks a condition inside a transaction and writes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The table.
    pub table: TableName,
    /// Exactly the key attributes.
    pub key: Item,
    /// The condition.
    pub condition: Condition,
    /// What a failed condition returns.
    pub on_failure: OnFailure,
}

/// What a query or scan returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// Everything that the table or index projects.
    #[default]
    All,
    /// All attributes; on a local index this reads the table for those that are not projected.
    AllOfTable,
    /// These parts.
    Parts(Projection),
    /// Only the number of items.
    Count,
}

/// Reads one partition of a table or index in key order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The table.
    pub table: TableName,
    /// The index, or the table itself.
    pub index: Option<IndexName>,
    /// The partition and the range in it.
    pub key: KeyCondition,
    /// Which of the items read to return. Saves no reads.
    pub filter: Option<Condition>,
    /// What to return.
    pub select: Select,
    /// The order of the sort key.
    pub direction: Direction,
    /// Maximum number of items to read.
    pub limit: Option<u32>,
    /// The last key of the previous page.
    pub start: Option<Item>,
    /// How fresh the read must be.
    pub consistency: Consistency,
}

/// One of several parallel scans that share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Its number, from 0.
    pub number: u32,
    /// The number of segments, 1 to 1,000,000.
    pub of: u32,
}

/// Reads a whole table or index, in an order chosen by the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The table.
    pub table: TableName,
    /// The index, or the table itself.
    pub index: Option<IndexName>,
    /// Which of the items read to return. Saves no reads.
    pub filter: Option<Condition>,
    /// What to return.
    pub select: Select,
    /// Maximum number of items to read.
    pub limit: Option<u32>,
    /// The last key of the previous page.
    pub start: Option<Item>,
    /// The segment to scan; everything by default.
    pub segment: Option<Segment>,
    /// How fresh the read must be.
    pub consistency: Consistency,
}

/// One page of a query or scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The items that passed the filter; empty when only counting.
    pub items: Vec<Item>,
    /// The number of items that passed the filter.
    pub count: u64,
    /// The number of items read.
    pub scanned: u64,
    /// Size of the items read, as DynamoDB counts it.
    pub scanned_bytes: u64,
    /// Where the next page starts; `None` if certainly nothing is left.
    pub last_key: Option<Item>,
}

/// Reads up to 100 items of any tables, in no particular order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchGet {
    /// The items to read; none twice.
    pub gets: Vec<Get>,
}

/// The result of a batch read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchGot {
    /// The items that exist, each with its table.
    pub items: Vec<(TableName, Item)>,
    /// What did not fit into 16 MB: request these again.
    pub unprocessed: Vec<Get>,
}

/// One write of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchAction {
    /// Creates or replaces the item.
    Put(TableName, Item),
    /// Deletes the item with the key.
    Delete(TableName, Item),
}

/// Writes up to 25 items of any tables. Not a transaction: a reader may see some of them first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchWrite {
    /// The writes; no item twice.
    pub actions: Vec<BatchAction>,
}

/// One action of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactAction {
    /// Creates or replaces.
    Put(Put),
    /// Updates.
    Update(UpdateItem),
    /// Deletes.
    Delete(Delete),
    /// Only checks.
    Check(Check),
}

/// Adds to a number that an item holds, whatever its value by then: concurrent additions do not
/// conflict. Its other attributes, if any, are numbers too; it is created when its number becomes nonzero, and
/// deleted when it becomes 0. Feeds do not include such changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddNumber {
    /// The table.
    pub table: TableName,
    /// The key of the item.
    pub key: Item,
    /// The attribute that holds the number.
    pub attribute: Name,
    /// What to add.
    pub change: i64,
    /// Further attributes of the item, and what to add to each: exactly, or the addition is rejected. A sum
    /// of 0 has no attribute.
    pub sums: Vec<(Name, Number)>,
    /// How the item is ranked by its number, if it is.
    pub rank: Option<Rank>,
}

/// How an item is ranked by a number: in an index, greatest first, and in prefix counts
/// ([`Score`]).
///
/// [`Score`]: keyloom_value::Score
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The partition key attribute of the index, and its value.
    pub partition: (Name, Vec<u8>),
    /// The sort key attribute of the index, and its value after the score.
    pub sort: (Name, Vec<u8>),
    /// The partition key of the prefix counts, which are items of the table: they hold their
    /// numbers in the same attribute.
    pub prefix_counts: Vec<u8>,
}

/// Up to 100 writes that are applied atomically.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactWrite {
    /// The actions; no item twice.
    pub actions: Vec<TransactAction>,
    /// Additions to numbers, in items that no action targets; empty if the store does not support
    /// them ([`Store::adds_numbers`](crate::Store::adds_numbers)).
    pub numbers: Vec<AddNumber>,
    /// Set changes, in order; empty if the store has no sets.
    pub sets: Vec<SetChange>,
    /// Remembered for ten minutes: sending the same transaction with it again does nothing.
    pub token: Option<String>,
}

/// Up to 100 reads at one point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactGet {
    /// The reads.
    pub gets: Vec<Get>,
}

impl Get {
    /// Reads the whole item with this key.
    pub fn new(table: &TableName, key: Item) -> Get {
        Get { table: table.clone(), key, projection: None, consistency: Consistency::Strong }
    }
}

impl Put {
    /// Writes the item unconditionally.
    pub fn new(table: &TableName, item: Item) -> Put {
        Put {
            table: table.clone(),
            item,
            condition: None,
            returns: Returns::Nothing,
            on_failure: OnFailure::Nothing,
        }
    }

    /// Adds a condition.
    pub fn when(mut self, condition: Condition) -> Put {
        self.condition = Some(condition);
        self
    }
}

impl UpdateItem {
    /// Updates the item with this key unconditionally.
    pub fn new(table: &TableName, key: Item, update: Update) -> UpdateItem {
        UpdateItem {
            table: table.clone(),
            key,
            update,
            condition: None,
            returns: Returns::Nothing,
            on_failure: OnFailure::Nothing,
        }
    }

    /// Adds a condition.
    pub fn when(mut self, condition: Condition) -> UpdateItem {
        self.condition = Some(condition);
        self
    }

    /// Sets which image to return.
    pub fn returning(mut self, returns: Returns) -> UpdateItem {
        self.returns = returns;
        self
    }
}

impl Delete {
    /// Deletes the item with this key unconditionally.
    pub fn new(table: &TableName, key: Item) -> Delete {
        Delete {
            table: table.clone(),
            key,
            condition: None,
            returns: Returns::Nothing,
            on_failure: OnFailure::Nothing,
        }
    }

    /// Adds a condition.
    pub fn when(mut self, condition: Condition) -> Delete {
        self.condition = Some(condition);
        self
    }
}

impl TransactWrite {
    /// Creates a transaction of these actions, without a token.
    pub fn new(actions: Vec<TransactAction>) -> TransactWrite {
        TransactWrite { actions, ..TransactWrite::default() }
    }
}

impl TransactAction {
    /// Returns the table of its item.
    pub fn table(&self) -> &TableName {
        match self {
            TransactAction::Put(put) => &put.table,
            TransactAction::Update(update) => &update.table,
            TransactAction::Delete(delete) => &delete.table,
            TransactAction::Check(check) => &check.table,
        }
    }

    /// Returns an item with the key attributes of its target.
    pub(crate) fn image(&self) -> &Item {
        match self {
            TransactAction::Put(put) => &put.item,
            TransactAction::Update(update) => &update.key,
            TransactAction::Delete(delete) => &delete.key,
            TransactAction::Check(check) => &check.key,
        }
    }

    /// Returns the key of its target, given the key schema of its table.
    pub(crate) fn key(&self, schema: &KeySchema) -> Item {
        schema.of(self.image())
    }
}

impl Query {
    /// Reads the table's rows that satisfy the key condition, ascending.
    pub fn new(table: &TableName, key: KeyCondition) -> Query {
        Query {
            table: table.clone(),
            index: None,
            key,
            filter: None,
            select: Select::All,
            direction: Direction::Forward,
            limit: None,
            start: None,
            consistency: Consistency::Strong,
        }
    }
}

impl Scan {
    /// Reads the whole table.
    pub fn new(table: &TableName) -> Scan {
        Scan {
            table: table.clone(),
            index: None,
            filter: None,
            select: Select::All,
            limit: None,
            start: None,
            segment: None,
            consistency: Consistency::Strong,
        }
    }
}
