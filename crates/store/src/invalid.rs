//! The rules of requests, and the messages for breaking them.

use std::fmt;

use keyloom_value::{Item, Name, UpdateError, ValueType};

use crate::{IndexName, ShardId, TableName};

/// The rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// An invalid name of a table or index.
    Name {
        /// The text.
        name: String,
    },
    /// An invalid key schema.
    KeySchema {
        /// The table or index.
        of: String,
        /// Why.
        why: &'static str,
    },
    /// Two indexes with the same name.
    IndexTwice {
        /// The name.
        index: IndexName,
    },
    /// An attribute is used as a key with two types.
    KeyTypeConflict {
        /// The attribute.
        attribute: Name,
    },
    /// Too many indexes.
    TooManyIndexes {
        /// `global` or `local`.
        scope: &'static str,
        /// The maximum.
        limit: usize,
    },
    /// Local indexes are fixed when the table is created.
    LocalIndexFixed {
        /// The index.
        index: IndexName,
    },
    /// A key attribute is missing.
    KeyMissing {
        /// The attribute.
        attribute: Name,
    },
    /// A key attribute has the wrong type.
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
        /// Its size.
        bytes: usize,
        /// The maximum.
        limit: usize,
    },
    /// A key has an attribute that is not part of it.
    KeyExtra {
        /// The attribute.
        attribute: Name,
    },
    /// The item is too large.
    ItemTooLarge {
        /// Its size.
        bytes: usize,
        /// The maximum.
        limit: usize,
    },
    /// The item is nested too deeply.
    TooDeep {
        /// The maximum number of levels.
        limit: usize,
    },
    /// A set without members.
    EmptySet {
        /// The attribute that holds it.
        attribute: Name,
    },
    /// An attribute name that is empty or too long.
    AttributeName {
        /// The name.
        name: String,
    },
    /// An update writes a key attribute.
    UpdatesKey {
        /// The attribute.
        attribute: Name,
    },
    /// The stored value is not a number, or the addition would overflow.
    NotAddable {
        /// The attribute.
        attribute: Name,
    },
    /// An update cannot be applied.
    Update(#[source] UpdateError),
    /// A key condition that is not one contiguous range.
    KeyCondition {
        /// The attribute in question.
        attribute: Name,
        /// Why.
        why: &'static str,
    },
    /// A start key that this query or scan cannot have returned.
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
    /// A query filter on attributes that its index does not project.
    FilterNotProjected {
        /// The index.
        index: IndexName,
        /// The attributes, each once.
        attributes: Vec<Name>,
    },
    /// The index does not project the requested attributes.
    NotProjected {
        /// The index.
        index: IndexName,
    },
    /// A segment number out of range, or too many segments.
    Segment {
        /// The number.
        number: u32,
        /// The number of segments.
        of: u32,
    },
    /// A batch or transaction without actions.
    NoActions,
    /// Too many actions in one batch or transaction.
    TooManyActions {
        /// The number of actions.
        count: usize,
        /// The maximum.
        limit: usize,
    },
    /// A batch or transaction names one item twice.
    ItemTwice {
        /// The table.
        table: TableName,
        /// The item's key.
        key: Box<Item>,
    },
    /// A transaction that is too large.
    TransactionTooLarge {
        /// Its size.
        bytes: usize,
        /// The maximum.
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
    /// The feed has no such shard.
    Shard {
        /// The requested name.
        shard: ShardId,
    },
    /// An update with too many operators.
    UpdateTooLarge {
        /// The number of operators.
        operators: usize,
        /// The maximum.
        limit: usize,
    },
    /// A condition with too many operators.
    ConditionTooLarge {
        /// The number of operators.
        operators: usize,
        /// The maximum.
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
    /// Writes what is wrong, and where.
    #[rustfmt::skip] // A table: one rule, one line.
    fn what(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Invalid::*;
        match self {
            Name { name } => write!(f, "Invalid table or index name: `{name}`."),
            KeySchema { of, why } => write!(f, "Invalid key of `{of}`: {why}."),
            IndexTwice { index } => write!(f, "Two indexes are named `{index}`."),
            KeyTypeConflict { attribute } => write!(f, "`{attribute}` has two types in the keys of one table."),
            TooManyIndexes { scope, limit } => write!(f, "A table can have at most {limit} {scope} indexes."),
            LocalIndexFixed { index } => write!(f, "`{index}` is a local index, and these are fixed when the table is created."),
            KeyMissing { attribute } => write!(f, "The key attribute `{attribute}` is missing."),
            KeyType { attribute, expected, found } => write!(f, "The key attribute `{attribute}` must have type {expected}, not {found}."),
            KeyEmpty { attribute } => write!(f, "The key attribute `{attribute}` cannot be empty."),
            KeyTooLong { attribute, bytes, limit } => write!(f, "The key attribute `{attribute}` has {bytes} bytes; the maximum is {limit}."),
            KeyExtra { attribute } => write!(f, "`{attribute}` is not part of the key."),
            ItemTooLarge { bytes, limit } => write!(f, "The item has {bytes} bytes, including names; the maximum is {limit}."),
            TooDeep { limit } => write!(f, "The item is nested more than {limit} levels deep."),
            EmptySet { attribute } => write!(f, "A set in `{attribute}` has no members."),
            AttributeName { name } if name.is_empty() => write!(f, "An attribute has no name."),
            AttributeName { name } => write!(f, "The attribute name is too long: {} bytes.", name.len()),
            UpdatesKey { attribute } => write!(f, "An update cannot write the key attribute `{attribute}`."),
            NotAddable { attribute } => write!(f, "Cannot add to the attribute `{attribute}`: it is not a number, or the sum is out of range."),
            Update(error) => write!(f, "The update cannot be applied: {error}."),
            KeyCondition { attribute, why } => write!(f, "Invalid key condition on `{attribute}`: {why}."),
            StartKey { why } => write!(f, "The start key did not come from this query or scan: {why}."),
            LimitZero => write!(f, "The limit is zero."),
            FilterOnKey { attribute } => write!(f, "The filter is on the key attribute `{attribute}`."),
            FilterNotProjected { index, attributes } => write!(f, "The filter uses attributes that the index `{index}` does not project: {}.", listed(attributes)),
            NotProjected { index } => write!(f, "The index `{index}` does not project all of the requested attributes."),
            Segment { number, of } => write!(f, "Invalid segment {number} of {of}."),
            NoActions => write!(f, "The request has no actions."),
            TooManyActions { count, limit } => write!(f, "The request has {count} actions; the maximum is {limit}."),
            ItemTwice { table, key } => write!(f, "The request names the item {key} of table `{table}` twice."),
            TransactionTooLarge { bytes, limit } => write!(f, "The items of the transaction have {bytes} bytes; the maximum is {limit}."),
            Returns { write } => write!(f, "A {write} cannot return the requested image."),
            SetName { bytes } => write!(f, "The set name has {bytes} bytes; it must have 1 to {}.", crate::SetName::BYTES_MAX),
            Token => write!(f, "The token is empty or too long."),
            Shard { shard } => write!(f, "The feed has no shard `{shard}`."),
            UpdateTooLarge { operators, limit } => write!(f, "The update has {operators} operators; the maximum is {limit}."),
            ConditionTooLarge { operators, limit } => write!(f, "The condition has {operators} operators; the maximum is {limit}."),
        }
    }

    /// Returns how to fix it, if the message alone does not say so.
    fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Invalid::Name { .. } => "Use 3 to 255 characters of A-Z, a-z, 0-9, `_`, `.` and `-`.",
            Invalid::IndexTwice { .. } => "Rename or drop one.",
            Invalid::KeyTypeConflict { .. } => "Use the same type in all of them.",
            Invalid::LocalIndexFixed { .. } => "Use a global index.",
            Invalid::KeyExtra { .. } => "Specify only the key attributes.",
            Invalid::EmptySet { .. } => "Omit the set instead.",
            Invalid::UpdatesKey { .. } => "Delete the item and put a new one.",
            Invalid::StartKey { .. } => "Use the last key of the previous page.",
            Invalid::LimitZero => "Request at least one item.",
            Invalid::FilterOnKey { .. } => "Use the key condition instead.",
            Invalid::FilterNotProjected { .. } => "Project them, or scan.",
            Invalid::NotProjected { .. } => "Request fewer, or read the table.",
            Invalid::Segment { .. } => {
                "Segments are numbered from 0, and there can be 1 to 1000000."
            }
            Invalid::ItemTwice { .. } => "Merge the two actions, or send two requests.",
            Invalid::Token => "Use 1 to 36 characters.",
            Invalid::Shard { .. } => "List the shards of the table.",
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
