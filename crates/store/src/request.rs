//! What can be asked of a store, as plain data.

use keyloom_value::{Condition, Item, KeyCondition, Name, Projection, Update};

use crate::{IndexName, KeySchema, SetChange, TableName};

/// How fresh a read must be. The embedded engine always answers strongly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// Every write acknowledged before is seen.
    #[default]
    Strong,
    /// May lag; half the price where reads are paid for.
    Eventual,
}

/// Reads one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Get {
    /// The table.
    pub table: TableName,
    /// Exactly the key attributes.
    pub key: Item,
    /// What to return of the item; all if none.
    pub projection: Option<Projection>,
    /// How fresh.
    pub consistency: Consistency,
}

/// Which image a write returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Returns {
    /// None.
    #[default]
    Nothing,
    /// The whole item as it was.
    AllOld,
    /// What the update touched, as it was. Updates only.
    UpdatedOld,
    /// The whole item as it is now. Updates only.
    AllNew,
    /// What the update touched, as it is now. Updates only.
    UpdatedNew,
}

/// Whether a failed condition carries the item that failed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnFailure {
    /// It carries nothing.
    #[default]
    Nothing,
    /// It carries the item.
    ReturnItem,
}

/// Creates or replaces one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The table.
    pub table: TableName,
    /// The whole item.
    pub item: Item,
    /// What must hold of the item that is there.
    pub condition: Option<Condition>,
    /// `Nothing` or `AllOld`.
    pub returns: Returns,
    /// What a failed condition carries.
    pub on_failure: OnFailure,
}

/// Changes parts of one item; creates it if it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateItem {
    /// The table.
    pub table: TableName,
    /// Exactly the key attributes.
    pub key: Item,
    /// The changes.
    pub update: Update,
    /// What must hold of the item that is there.
    pub condition: Option<Condition>,
    /// Which image to return.
    pub returns: Returns,
    /// What a failed condition carries.
    pub on_failure: OnFailure,
}

/// Deletes one item; deleting what is not there is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The table.
    pub table: TableName,
    /// Exactly the key attributes.
    pub key: Item,
    /// What must hold of the item that is there.
    pub condition: Option<Condition>,
    /// `Nothing` or `AllOld`.
    pub returns: Returns,
    /// What a failed condition carries.
    pub on_failure: OnFailure,
}

/// Checks a condition inside a transaction and writes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The table.
    pub table: TableName,
    /// Exactly the key attributes.
    pub key: Item,
    /// What must hold.
    pub condition: Condition,
    /// What a failed condition carries.
    pub on_failure: OnFailure,
}

/// Which way a query walks the sort key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Ascending.
    #[default]
    Forward,
    /// Descending.
    Backward,
}

/// What a query or scan returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// Everything the table or index keeps of an item.
    #[default]
    All,
    /// Everything the table keeps; on a local index this reads the table for what the index lacks.
    AllOfTable,
    /// These parts.
    Parts(Projection),
    /// Only how many.
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
    /// What to drop of what was read. Saves no reads.
    pub filter: Option<Condition>,
    /// What to return.
    pub select: Select,
    /// Which way.
    pub direction: Direction,
    /// How many items to look at, at most.
    pub limit: Option<u32>,
    /// The last key of the page before.
    pub start: Option<Item>,
    /// How fresh.
    pub consistency: Consistency,
}

/// One of several scans that share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Which, from 0.
    pub number: u32,
    /// Of how many, 1 to 1,000,000.
    pub of: u32,
}

/// Reads a whole table or index, in an order of the store's choosing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The table.
    pub table: TableName,
    /// The index, or the table itself.
    pub index: Option<IndexName>,
    /// What to drop of what was read. Saves no reads.
    pub filter: Option<Condition>,
    /// What to return.
    pub select: Select,
    /// How many items to look at, at most.
    pub limit: Option<u32>,
    /// The last key of the page before.
    pub start: Option<Item>,
    /// The share of the work, or all of it.
    pub segment: Option<Segment>,
    /// How fresh.
    pub consistency: Consistency,
}

/// One page of a query or scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// What passed the filter; empty when only counting.
    pub items: Vec<Item>,
    /// How many passed the filter.
    pub count: u64,
    /// How many were looked at.
    pub scanned: u64,
    /// Bytes of what was looked at, as DynamoDB counts them.
    pub scanned_bytes: u64,
    /// Where the next page starts; none when nothing is left for sure.
    pub last_key: Option<Item>,
}

/// Reads up to 100 items, of any tables, in no stated order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchGet {
    /// What to read; no item twice.
    pub gets: Vec<Get>,
}

/// What a batch read found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchGot {
    /// The items that exist, each with its table.
    pub items: Vec<(TableName, Item)>,
    /// What did not fit into 16 MB: ask again for these.
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

/// Writes up to 25 items, of any tables. Not a transaction: a reader may see some of them first.
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

/// Adds to a number that an item holds, whatever it is by then: nobody who adds to the same number
/// is in anybody's way. The item holds nothing else; it comes when its number is not 0 any more, and
/// goes when it is. Feeds do not have such changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddNumber {
    /// The table.
    pub table: TableName,
    /// The key of the item.
    pub key: Item,
    /// The attribute that holds the number.
    pub attribute: Name,
    /// What is added.
    pub change: i64,
    /// Where the item is ranked by its number, if it is.
    pub rank: Option<Rank>,
}

/// Where an item is ranked by a number: the greatest first, in an index, and in steps ([`Score`]).
///
/// [`Score`]: keyloom_value::Score
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The attribute that is the partition key of the index, and what it holds.
    pub partition: (Name, Vec<u8>),
    /// The attribute that is its sort key, and what it holds after the score.
    pub sort: (Name, Vec<u8>),
    /// The partition key of the steps, which are items of the table: they hold their numbers in the
    /// same attribute.
    pub steps: Vec<u8>,
}

/// Up to 100 writes that happen together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactWrite {
    /// The actions; no item twice.
    pub actions: Vec<TransactAction>,
    /// What is added to numbers, in items that no action is about; nothing, if the store does not
    /// add ([`Store::adds_numbers`](crate::Store::adds_numbers)).
    pub numbers: Vec<AddNumber>,
    /// Who joins and leaves sets, in this order; nobody, if the store has none.
    pub sets: Vec<SetChange>,
    /// Remembered for ten minutes: the same transaction sent again with it does nothing.
    pub token: Option<String>,
}

/// Up to 100 reads of one moment.
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
    /// Writes the item whatever is there.
    pub fn new(table: &TableName, item: Item) -> Put {
        Put {
            table: table.clone(),
            item,
            condition: None,
            returns: Returns::Nothing,
            on_failure: OnFailure::Nothing,
        }
    }

    /// Only if the condition holds.
    pub fn when(mut self, condition: Condition) -> Put {
        self.condition = Some(condition);
        self
    }
}

impl UpdateItem {
    /// Updates the item with this key, whatever is there.
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

    /// Only if the condition holds.
    pub fn when(mut self, condition: Condition) -> UpdateItem {
        self.condition = Some(condition);
        self
    }

    /// Returns this image.
    pub fn returning(mut self, returns: Returns) -> UpdateItem {
        self.returns = returns;
        self
    }
}

impl Delete {
    /// Deletes the item with this key, whatever it is.
    pub fn new(table: &TableName, key: Item) -> Delete {
        Delete {
            table: table.clone(),
            key,
            condition: None,
            returns: Returns::Nothing,
            on_failure: OnFailure::Nothing,
        }
    }

    /// Only if the condition holds.
    pub fn when(mut self, condition: Condition) -> Delete {
        self.condition = Some(condition);
        self
    }
}

impl TransactWrite {
    /// These actions, and nothing to remember them by.
    pub fn new(actions: Vec<TransactAction>) -> TransactWrite {
        TransactWrite { actions, ..TransactWrite::default() }
    }
}

impl TransactAction {
    /// The table it is about.
    pub fn table(&self) -> &TableName {
        match self {
            TransactAction::Put(put) => &put.table,
            TransactAction::Update(update) => &update.table,
            TransactAction::Delete(delete) => &delete.table,
            TransactAction::Check(check) => &check.table,
        }
    }

    /// An item that has the key attributes of the item it is about.
    pub(crate) fn image(&self) -> &Item {
        match self {
            TransactAction::Put(put) => &put.item,
            TransactAction::Update(update) => &update.key,
            TransactAction::Delete(delete) => &delete.key,
            TransactAction::Check(check) => &check.key,
        }
    }

    /// The key of the item it is about, given the key of its table.
    pub(crate) fn key(&self, schema: &KeySchema) -> Item {
        schema.of(self.image())
    }
}

impl Query {
    /// Reads the table's rows that meet the key condition, ascending.
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
