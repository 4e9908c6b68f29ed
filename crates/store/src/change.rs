//! The change feed: the changes of a table, in commit order.

use std::fmt;

use keyloom_value::Item;

use crate::{ShardId, TableName, Time};

/// The sequence number of a change in the feed. Later changes have greater numbers; numbers have
/// gaps.
///
/// Wide enough for the sequence numbers of DynamoDB Streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeqNo(pub u128);

impl fmt::Display for SeqNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A part of a feed that is read independently. The embedded engine has one.
///
/// A shard can end: it is split, or grows old. Its children continue it, so that the changes of an
/// item are in order for whoever reads a shard after the end of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its name.
    pub id: ShardId,
    /// The shard that it continues, if that one is still listed.
    pub parent: Option<ShardId>,
}

/// Where to start reading a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedStart {
    /// At the oldest change in the feed.
    Oldest,
    /// After this change.
    After(SeqNo),
    /// At the end: only new changes.
    Now,
}

/// Reads changes of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadChanges {
    /// The table.
    pub table: TableName,
    /// The shard.
    pub shard: ShardId,
    /// Where to start.
    pub start: FeedStart,
    /// Maximum number of changes.
    pub limit: usize,
}

/// A page of changes, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePage {
    /// The changes.
    pub changes: Vec<Change>,
    /// Where to continue: every change up to here has been read. Only a position, not necessarily the
    /// number of a change.
    pub next: SeqNo,
    /// Whether the shard ends here: it gets no more changes, and its children may be read. A short or
    /// empty page of a shard that has not ended says nothing about what follows.
    pub is_ended: bool,
}

/// A change of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its sequence number.
    pub seq: SeqNo,
    /// When it happened.
    pub at: Time,
    /// The item's key.
    pub key: Item,
    /// The item before; `None` if it was created.
    pub old: Option<Item>,
    /// The item after; `None` if it was deleted.
    pub new: Option<Item>,
    /// Why it changed.
    pub cause: Cause,
}

/// Why an item changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A request.
    Request,
    /// Its time to live ended.
    Expiry,
}
