//! Sets of ordinals beside the items of a table: a primitive that not every store has.
//!
//! A set has a name and members, which are numbers. It is there as long as it has members. What
//! names and numbers mean is its user's business. Sets are changed by transactions, together with
//! items ([`TransactWrite::sets`](crate::TransactWrite)), and read in parts.

use crate::{Answer, ColumnPart, Direction, Invalid, Members, ReadColumn, TableName};

/// The name of a set: 1 to 2,048 bytes. Names are ordered byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetName(Vec<u8>);

impl SetName {
    /// As many bytes as a name can have.
    pub const BYTES_MAX: usize = 2048;

    /// A name.
    ///
    /// # Errors
    ///
    /// If it is empty or too long.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<SetName, Invalid> {
        let bytes = bytes.into();
        if (1..=SetName::BYTES_MAX).contains(&bytes.len()) {
            Ok(SetName(bytes))
        } else {
            Err(Invalid::SetName { bytes: bytes.len() })
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its bytes, without copying them.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Whether an ordinal is a member of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Membership {
    /// It is not.
    Out,
    /// It is.
    In,
}

/// Ordinals join or leave a set. Joining twice and leaving what one is not in change nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetChange {
    /// The table that the set belongs to.
    pub table: TableName,
    /// The set.
    pub set: SetName,
    /// The ordinals.
    pub ordinals: Vec<u64>,
    /// Whether they are members from now on.
    pub becomes: Membership,
}

impl SetChange {
    /// What it counts for in the size of a transaction.
    pub fn bytes(&self) -> usize {
        self.set.as_bytes().len() + self.ordinals.len() * size_of::<u64>()
    }
}

/// Reads a part of a set, from an ordinal on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSet {
    /// The table.
    pub table: TableName,
    /// The set.
    pub set: SetName,
    /// The first ordinal that counts; of a walk backward, the last.
    pub from: u64,
    /// Which way.
    pub direction: Direction,
    /// How many chunks with members to read, at most.
    pub chunks: u32,
}

impl ReadSet {
    /// Ordinals that one chunk spans: members are kept in chunks.
    pub const CHUNK_ORDINALS: u64 = 1 << 16;
}

/// A part of a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetPart {
    /// All members from where the read began to where it ended. There are some, if any are left.
    pub members: Members,
    /// The last ordinal that was looked at; none if nothing is left for sure.
    pub through: Option<u64>,
    /// How many chunks were read.
    pub chunks: u32,
    /// Bytes that were read for it.
    pub bytes: u64,
}

/// Finds sets of a table by the beginning of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListSets {
    /// The table.
    pub table: TableName,
    /// What names begin with; nothing finds all.
    pub prefix: Vec<u8>,
    /// Only names after this one.
    pub after: Option<SetName>,
    /// How many, at most: not none.
    pub limit: u32,
}

/// A set and how many members it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetSize {
    /// The set.
    pub set: SetName,
    /// Its members.
    pub members: u64,
}

/// Reading sets and columns, at the moment at which their store or snapshot is read.
///
/// Implementors MUST
/// - have a set be what the transactions so far made it, each as a whole with its items;
/// - answer for a set that nobody joined as for one without members;
/// - read at least one chunk that has members, if any are left;
/// - keep every column equal to what its table's items imply, or refuse to read it with
///   [`Error::IndexBuilding`](crate::Error).
pub trait Sets: Send + Sync {
    /// How many members each of these has.
    fn set_sizes(&self, table: TableName, sets: Vec<SetName>) -> Answer<'_, Vec<u64>>;
    /// A part of a set.
    fn read_set(&self, read: ReadSet) -> Answer<'_, SetPart>;
    /// Sets that have members, in the order of their names.
    fn list_sets(&self, list: ListSets) -> Answer<'_, Vec<SetSize>>;
    /// The first of some ordinals in the order of a column.
    fn read_column(&self, read: ReadColumn) -> Answer<'_, ColumnPart>;
}
