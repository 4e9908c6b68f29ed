//! The change feed: what happened to a table, in the order in which it happened.

use std::fmt;

use keyloom_value::Item;

use crate::{TableName, Time};

/// The number of a change in the feed: later changes have greater numbers. Numbers have gaps.
///
/// Wide enough for the numbers of DynamoDB Streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeqNo(pub u128);

impl fmt::Display for SeqNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A part of a feed that is read on its own. The embedded engine has one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub String);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where to read a feed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedStart {
    /// The oldest change that is kept.
    Oldest,
    /// The first change after this one.
    After(SeqNo),
    /// Whatever comes from now on.
    Now,
}

/// Reads changes of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadChanges {
    /// The table.
    pub table: TableName,
    /// The shard.
    pub shard: ShardId,
    /// From where.
    pub start: FeedStart,
    /// How many changes, at most.
    pub limit: usize,
}

/// Some changes, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePage {
    /// The changes.
    pub changes: Vec<Change>,
    /// Where to read on: every change up to here has been seen.
    pub next: SeqNo,
}

/// One item changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its number.
    pub seq: SeqNo,
    /// When it happened.
    pub at: Time,
    /// The item's key.
    pub key: Item,
    /// The item before; none if it was created.
    pub old: Option<Item>,
    /// The item after; none if it was deleted.
    pub new: Option<Item>,
    /// Who did it.
    pub cause: Cause,
}

/// Why an item changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Somebody asked for it.
    Request,
    /// Its time to live ended.
    Expiry,
}
