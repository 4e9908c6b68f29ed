//! The rules of requests, and what to tell who breaks one.

use std::fmt;

use keyloom_value::{Item, Name, UpdateError, ValueType};

use crate::{IndexName, ShardId, TableName};

/// The rule a request breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Not a table or index name.
    Name {
        /// The text.
        name: String,
    },
    /// A key schema that cannot be.
    KeySchema {
        /// Whose.
        of: String,
        /// Why.
        why: &'static str,
    },
    /// Two indexes of one name.
    IndexTwice {
        /// The name.
        index: IndexName,
    },
    /// An attribute is used as a key with two types.
    KeyTypeConflict {
        /// The attribute.
        attribute: Name,
    },
    /// More indexes than there can be.
    TooManyIndexes {
        /// `global` or `local`.
        scope: &'static str,
        /// How many there can be.
        limit: usize,
    },
    /// Local indexes are fixed when the table is made.
    LocalIndexFixed {
        /// The index.
        index: IndexName,
    },
    /// A key attribute is missing.
    KeyMissing {
        /// The attribute.
        attribute: Name,
    },
    /// A key attribute has another type.
    KeyType {
        /// The attribute.
        attribute: Name,
        /// The key's type.
        expected: ValueType,
        /// The value's type.
        found: ValueType,
    },
    /// A key attribute is empty.
    KeyEmpty {
        /// The attribute.
        attribute: Name,
    },
    /// A key attribute is too long.
    KeyTooLong {
        /// The attribute.
        attribute: Name,
        /// Its bytes.
        bytes: usize,
        /// How many there can be.
        limit: usize,
    },
    /// A key has an attribute that is not part of it.
    KeyExtra {
        /// The attribute.
        attribute: Name,
    },
    /// The item is too large.
    ItemTooLarge {
        /// Its bytes.
        bytes: usize,
        /// How many there can be.
        limit: usize,
    },
    /// The item is nested too deeply.
    TooDeep {
        /// How many levels there can be.
        limit: usize,
    },
    /// A set without members.
    EmptySet {
        /// The attribute that holds it.
        attribute: Name,
    },
    /// An attribute without a name, or with one too long.
    AttributeName {
        /// The name.
        name: String,
    },
    /// An update writes a key attribute.
    UpdatesKey {
        /// The attribute.
        attribute: Name,
    },
    /// What is there is no number, or one to which so much cannot be added.
    NotAddable {
        /// The attribute that should hold it.
        attribute: Name,
    },
    /// An update cannot be applied.
    Update(#[source] UpdateError),
    /// A key condition that is not one contiguous read.
    KeyCondition {
        /// The attribute in question.
        attribute: Name,
        /// Why.
        why: &'static str,
    },
    /// A start key that cannot have come from this query or scan.
    StartKey {
        /// Why.
        why: &'static str,
    },
    /// A limit of zero.
    LimitZero,
    /// A filter on a key attribute of the query.
    FilterOnKey {
        /// The attribute.
        attribute: Name,
    },
    /// A filter of a query by attributes that its index does not keep.
    FilterNotProjected {
        /// The index.
        index: IndexName,
        /// The attributes, each once.
        attributes: Vec<Name>,
    },
    /// The index does not keep what the request wants.
    NotProjected {
        /// The index.
        index: IndexName,
    },
    /// A segment number that is not below the number of segments, or too many segments.
    Segment {
        /// The number.
        number: u32,
        /// Of how many.
        of: u32,
    },
    /// A batch or transaction without actions.
    NoActions,
    /// Too many actions in one batch or transaction.
    TooManyActions {
        /// How many there are.
        count: usize,
        /// How many there can be.
        limit: usize,
    },
    /// A batch or transaction names one item twice.
    ItemTwice {
        /// The table.
        table: TableName,
        /// The item's key.
        key: Box<Item>,
    },
    /// A transaction of too many bytes.
    TransactionTooLarge {
        /// Its bytes.
        bytes: usize,
        /// How many there can be.
        limit: usize,
    },
    /// An image that this write cannot return.
    Returns {
        /// `put`, `delete` or `transaction`.
        write: &'static str,
    },
    /// A token that is empty or too long.
    Token,
    /// The name of a set is empty or too long.
    SetName {
        /// Its bytes.
        bytes: usize,
    },
    /// A feed has no such part.
    Shard {
        /// The name asked for.
        shard: ShardId,
    },
    /// An update with too many operators.
    UpdateTooLarge {
        /// How many it has.
        operators: usize,
        /// How many there can be.
        limit: usize,
    },
    /// A condition with too many operators.
    ConditionTooLarge {
        /// How many it has.
        operators: usize,
        /// How many there can be.
        limit: usize,
    },
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what(f)?;
        match self.advice() {
            Some(advice) => write!(f, " {advice}"),
            None => Ok(()),
        }
    }
}

impl Invalid {
    /// What is wrong, and where.
    #[rustfmt::skip] // A table: one rule, one line.
    fn what(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Invalid::*;
        match self {
            Name { name } => write!(f, "`{name}` is no name of a table or index."),
            KeySchema { of, why } => write!(f, "The key of `{of}` cannot be: {why}."),
            IndexTwice { index } => write!(f, "There are two indexes named `{index}`."),
            KeyTypeConflict { attribute } => write!(f, "`{attribute}` has two types in the keys of one table."),
            TooManyIndexes { scope, limit } => write!(f, "A table has {limit} {scope} indexes at most."),
            LocalIndexFixed { index } => write!(f, "`{index}` is a local index; these are fixed when the table is made."),
            KeyMissing { attribute } => write!(f, "The key attribute `{attribute}` is missing."),
            KeyType { attribute, expected, found } => write!(f, "The key attribute `{attribute}` is of type {expected}, not {found}."),
            KeyEmpty { attribute } => write!(f, "The key attribute `{attribute}` cannot be empty."),
            KeyTooLong { attribute, bytes, limit } => write!(f, "The key attribute `{attribute}` has {bytes} bytes; it can have {limit} at most."),
            KeyExtra { attribute } => write!(f, "`{attribute}` is not part of the key."),
            ItemTooLarge { bytes, limit } => write!(f, "The item has {bytes} bytes, names included; it can have {limit} at most."),
            TooDeep { limit } => write!(f, "The item is nested more than {limit} levels deep."),
            EmptySet { attribute } => write!(f, "A set in `{attribute}` has no members."),
            AttributeName { name } if name.is_empty() => write!(f, "An attribute has no name."),
            AttributeName { name } => write!(f, "The name of an attribute has {} bytes, which is too long.", name.len()),
            UpdatesKey { attribute } => write!(f, "An update cannot write the key attribute `{attribute}`."),
            NotAddable { attribute } => write!(f, "Nothing can be added to what the attribute `{attribute}` holds."),
            Update(error) => write!(f, "The update cannot be applied: {error}."),
            KeyCondition { attribute, why } => write!(f, "The key condition on `{attribute}` cannot be answered: {why}."),
            StartKey { why } => write!(f, "The start key did not come from this query or scan: {why}."),
            LimitZero => write!(f, "The limit is zero."),
            FilterOnKey { attribute } => write!(f, "The filter is on the key attribute `{attribute}`."),
            FilterNotProjected { index, attributes } => write!(f, "The index `{index}` does not keep what the filter is on: {}.", listed(attributes)),
            NotProjected { index } => write!(f, "The index `{index}` does not keep all the attributes asked for."),
            Segment { number, of } => write!(f, "There is no segment {number} of {of}."),
            NoActions => write!(f, "The request asks for nothing."),
            TooManyActions { count, limit } => write!(f, "The request has {count} actions; it can have {limit} at most."),
            ItemTwice { table, key } => write!(f, "The request names the item {key} of the table `{table}` twice."),
            TransactionTooLarge { bytes, limit } => write!(f, "The items of the transaction have {bytes} bytes; they can have {limit} at most."),
            Returns { write } => write!(f, "A {write} cannot return the image asked for."),
            SetName { bytes } => write!(f, "The name of a set has {bytes} bytes; it can have 1 to {}.", crate::SetName::BYTES_MAX),
            Token => write!(f, "The token is empty or too long."),
            Shard { shard } => write!(f, "The feed has no shard `{shard}`."),
            UpdateTooLarge { operators, limit } => write!(f, "The update has {operators} operators; it can have {limit} at most."),
            ConditionTooLarge { operators, limit } => write!(f, "The condition has {operators} operators; it can have {limit} at most."),
        }
    }

    /// What to do, where the rule itself does not say it.
    fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Invalid::Name { .. } => {
                "It has 3 to 255 characters of A-Z, a-z, 0-9, `_`, `.` and `-`."
            }
            Invalid::IndexTwice { .. } => "Rename or drop one.",
            Invalid::KeyTypeConflict { .. } => "Give it the same type in all of them.",
            Invalid::LocalIndexFixed { .. } => "Use a global index.",
            Invalid::KeyExtra { .. } => "Give the key attributes and no others.",
            Invalid::EmptySet { .. } => "Leave the set out instead.",
            Invalid::UpdatesKey { .. } => "Delete the item and put another.",
            Invalid::StartKey { .. } => "Start with the last key of the page before.",
            Invalid::LimitZero => "Ask for at least one item.",
            Invalid::FilterOnKey { .. } => "Put it into the key condition.",
            Invalid::FilterNotProjected { .. } => "Let the index keep it, or scan.",
            Invalid::NotProjected { .. } => "Ask for fewer, or read the table.",
            Invalid::Segment { .. } => "Segments count from zero; there are 1 to 1000000 of them.",
            Invalid::ItemTwice { .. } => "Merge the two, or send two requests.",
            Invalid::Token => "It has 1 to 36 characters.",
            Invalid::Shard { .. } => "Ask for the shards of the table.",
            Invalid::KeySchema { .. }
            | Invalid::TooManyIndexes { .. }
            | Invalid::KeyMissing { .. }
            | Invalid::KeyType { .. }
            | Invalid::KeyEmpty { .. }
            | Invalid::KeyTooLong { .. }
            | Invalid::ItemTooLarge { .. }
            | Invalid::TooDeep { .. }
            | Invalid::AttributeName { .. }
            | Invalid::NotAddable { .. }
            | Invalid::Update(_)
            | Invalid::KeyCondition { .. }
            | Invalid::NoActions
            | Invalid::TooManyActions { .. }
            | Invalid::TransactionTooLarge { .. }
            | Invalid::Returns { .. }
            | Invalid::SetName { .. }
            | Invalid::UpdateTooLarge { .. }
            | Invalid::ConditionTooLarge { .. } => return None,
        })
    }
}

fn listed(names: &[Name]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
