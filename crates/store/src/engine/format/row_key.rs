//! Keys of rows in the tree: a four-byte space id, then the key inside the space.
//!
//! Every table, index and time-to-live list has a space of its own, so that its rows are one
//! contiguous range. Space 0 holds the engine's own rows.

use super::{Malformed, Reader};

/// A contiguous range of the tree. Ids are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpaceId(pub(crate) u32);

impl SpaceId {
    pub(crate) const SYSTEM: SpaceId = SpaceId(0);

    /// Returns the row key for a key inside this space.
    pub(crate) fn row(self, key: &[u8]) -> Vec<u8> {
        let mut row = Vec::with_capacity(4 + key.len());
        row.extend_from_slice(&self.0.to_be_bytes());
        row.extend_from_slice(key);
        row
    }

    /// Returns the first possible row key of this space.
    pub(crate) fn start(self) -> Vec<u8> {
        self.row(&[])
    }

    /// Returns a bound after every row key of this space.
    pub(crate) fn end(self) -> Vec<u8> {
        SpaceId(self.0.saturating_add(1)).row(&[])
    }

    /// Splits a row key into its space and the key inside it.
    pub(crate) fn split(row: &[u8]) -> Result<(SpaceId, &[u8]), Malformed> {
        let mut reader = Reader::new(row);
        Ok((SpaceId(reader.u32()?), reader.rest()))
    }
}

/// The rows of the engine itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SystemKey {
    /// The last commit in the tree.
    Applied,
    /// The next free id for tables and spaces.
    NextId,
    /// A table's record.
    Table(u32),
    /// A space whose rows are to be removed.
    Dead(SpaceId),
    /// Items and bytes of a space.
    Stats(SpaceId),
    /// A transaction's token.
    Token(String),
    /// Tokens in the order of their expiry.
    TokenExpiry(u64, String),
    /// Approximate size of all rows.
    LiveBytes,
}

/// What a row of the engine itself is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Dead,
    Stats(SpaceId),
    Token,
    /// Expires at this time.
    TokenExpiry(u64),
    /// The size of all rows.
    LiveBytes,
    Other,
}

impl SystemKey {
    const TABLE: u8 = 3;
    const DEAD: u8 = 4;
    const STATS: u8 = 5;
    const TOKEN: u8 = 6;
    const TOKEN_EXPIRY: u8 = 7;
    const LIVE_BYTES: u8 = 8;

    pub(crate) fn row(&self) -> Vec<u8> {
        let mut row = SpaceId::SYSTEM.start();
        match self {
            SystemKey::Applied => row.push(1),
            SystemKey::NextId => row.push(2),
            SystemKey::Table(id) => {
                row.push(Self::TABLE);
                row.extend_from_slice(&id.to_be_bytes());
            }
            SystemKey::Dead(space) => {
                row.push(Self::DEAD);
                row.extend_from_slice(&space.0.to_be_bytes());
            }
            SystemKey::Stats(space) => {
                row.push(Self::STATS);
                row.extend_from_slice(&space.0.to_be_bytes());
            }
            SystemKey::Token(token) => {
                row.push(Self::TOKEN);
                row.extend_from_slice(token.as_bytes());
            }
            SystemKey::TokenExpiry(at, token) => {
                row.push(Self::TOKEN_EXPIRY);
                row.extend_from_slice(&at.to_be_bytes());
                row.extend_from_slice(token.as_bytes());
            }
            SystemKey::LiveBytes => row.push(Self::LIVE_BYTES),
        }
        row
    }

    /// Returns what a row is about; `None` if it is not one of the engine itself.
    pub(crate) fn kind(row: &[u8]) -> Option<RowKind> {
        let mut reader = Reader::new(row);
        if reader.u32().ok()? != SpaceId::SYSTEM.0 {
            return None;
        }
        Some(match reader.u8().ok()? {
            Self::DEAD => RowKind::Dead,
            Self::STATS => RowKind::Stats(SpaceId(reader.u32().ok()?)),
            Self::TOKEN => RowKind::Token,
            Self::TOKEN_EXPIRY => RowKind::TokenExpiry(reader.u64().ok()?),
            Self::LIVE_BYTES => RowKind::LiveBytes,
            _ => RowKind::Other,
        })
    }

    /// Returns the range of all table records.
    pub(crate) fn tables() -> (Vec<u8>, Vec<u8>) {
        (SpaceId::SYSTEM.row(&[Self::TABLE]), SpaceId::SYSTEM.row(&[Self::TABLE + 1]))
    }

    /// Returns the range of all dead spaces.
    pub(crate) fn dead() -> (Vec<u8>, Vec<u8>) {
        (SpaceId::SYSTEM.row(&[Self::DEAD]), SpaceId::SYSTEM.row(&[Self::DEAD + 1]))
    }

    /// Returns the range of all tokens that expire before a time.
    pub(crate) fn tokens_before(at: u64) -> (Vec<u8>, Vec<u8>) {
        let mut end = SpaceId::SYSTEM.row(&[Self::TOKEN_EXPIRY]);
        end.extend_from_slice(&at.to_be_bytes());
        (SpaceId::SYSTEM.row(&[Self::TOKEN_EXPIRY]), end)
    }

    /// Returns the space of a `Dead` row.
    pub(crate) fn dead_space(row: &[u8]) -> Result<SpaceId, Malformed> {
        let mut reader = Reader::new(row);
        reader.raw(5)?;
        Ok(SpaceId(reader.u32()?))
    }

    /// Returns the token of a `TokenExpiry` row.
    pub(crate) fn expiring_token(row: &[u8]) -> Result<String, Malformed> {
        let mut reader = Reader::new(row);
        reader.raw(13)?;
        let text = std::str::from_utf8(reader.rest());
        text.map(str::to_owned).map_err(|_| Malformed("a token is not UTF-8"))
    }
}
