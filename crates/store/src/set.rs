//! Sets of ordinals beside the items of a table: a primitive that not every store has.
//!
//! A set has a name and members, which are numbers. It exists while it has members. What names and
//! numbers mean is up to the caller. Sets are changed by transactions, together with items
//! ([`TransactWrite::sets`](crate::TransactWrite)), and read in parts.

use crate::{Answer, ColumnPart, Direction, Members, ReadColumn, SetName, TableName};

/// Whether an ordinal is a member of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Membership {
    /// It is not.
    Out,
    /// It is.
    In,
}

/// Adds ordinals to a set or removes them. Adding members and removing nonmembers changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetChange {
    /// The table that the set belongs to.
    pub table: TableName,
    /// The set.
    pub set: SetName,
    /// The ordinals.
    pub ordinals: Vec<u64>,
    /// Whether they become members.
    pub becomes: Membership,
}

impl SetChange {
    /// Returns what it adds to the size of a transaction.
    pub fn bytes(&self) -> usize {
        self.set.as_bytes().len() + self.ordinals.len() * size_of::<u64>()
    }
}

/// Reads a part of a set, starting at an ordinal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSet {
    /// The table.
    pub table: TableName,
    /// The set.
    pub set: SetName,
    /// The first ordinal to read, inclusive; in backward direction, the last.
    pub from: u64,
    /// The direction.
    pub direction: Direction,
    /// Maximum number of nonempty chunks to read.
    pub chunks: u32,
}

impl ReadSet {
    /// Number of ordinals that one chunk spans.
    pub const CHUNK_ORDINALS: u64 = 1 << 16;
}

/// A part of a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetPart {
    /// All members between the start and the end of the read. Not empty if any are left.
    pub members: Members,
    /// The last ordinal covered; `None` if certainly nothing is left.
    pub through: Option<u64>,
    /// The number of chunks read.
    pub chunks: u32,
    /// Bytes read.
    pub bytes: u64,
}

/// Finds sets of a table by a prefix of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListSets {
    /// The table.
    pub table: TableName,
    /// The prefix; empty to find all.
    pub prefix: Vec<u8>,
    /// Only names after this one.
    pub after: Option<SetName>,
    /// Maximum number of sets; at least one.
    pub limit: u32,
}

/// A set and its number of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetSize {
    /// The set.
    pub set: SetName,
    /// Its number of members.
    pub members: u64,
}

/// Reading sets and columns, at the point in time at which their store or snapshot is read.
///
/// Implementors MUST
/// - apply the set changes of a transaction atomically with its items;
/// - treat a set that was never added to as empty;
/// - read at least one nonempty chunk, if any are left;
/// - keep every column consistent with its table's items, or refuse to read it with
///   [`Error::IndexBuilding`](crate::Error).
pub trait Sets: Send + Sync {
    /// Returns the number of members of each set.
    fn set_sizes(&self, table: TableName, sets: Vec<SetName>) -> Answer<'_, Vec<u64>>;
    /// Reads a part of a set.
    fn read_set(&self, read: ReadSet) -> Answer<'_, SetPart>;
    /// Lists nonempty sets, ordered by name.
    fn list_sets(&self, list: ListSets) -> Answer<'_, Vec<SetSize>>;
    /// Returns the first of a set of ordinals in the order of a column.
    fn read_column(&self, read: ReadColumn) -> Answer<'_, ColumnPart>;
}
