//! Values of the engine's own rows in the tree; [`SystemKey`](super::SystemKey) has their keys.

use super::{CommitNo, Malformed, Reader, Writer};
use crate::Time;

/// The last commit in the tree, and when it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) commit: CommitNo,
    pub(crate) at: Time,
}

/// Item count and size of a space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) items: u64,
    pub(crate) bytes: u64,
}

/// A transaction that was committed with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenRecord {
    /// Identifies the request.
    pub(crate) fingerprint: u128,
    /// When the token expires.
    pub(crate) expires: Time,
}

/// The next free id for tables, spaces or sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextId(pub(crate) u32);

/// Approximate size of all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveBytes(pub(crate) u64);

impl Applied {
    pub(crate) const NOTHING: Applied = Applied { commit: CommitNo::NONE, at: Time(0) };

    pub(crate) fn encode(self) -> Vec<u8> {
        [self.commit.0.to_be_bytes(), self.at.0.to_be_bytes()].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Applied, Malformed> {
        let mut reader = Reader::new(bytes);
        let applied = Applied { commit: CommitNo(reader.u64()?), at: Time(reader.u64()?) };
        reader.finish()?;
        Ok(applied)
    }
}

impl Stats {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = Writer::default();
        out.varint(self.items);
        out.varint(self.bytes);
        out.into_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Stats, Malformed> {
        let mut reader = Reader::new(bytes);
        let stats = Stats { items: reader.varint()?, bytes: reader.varint()? };
        reader.finish()?;
        Ok(stats)
    }
}

impl TokenRecord {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = Writer::default();
        out.raw(&self.fingerprint.to_be_bytes());
        out.varint(self.expires.0);
        out.into_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<TokenRecord, Malformed> {
        let mut reader = Reader::new(bytes);
        let fingerprint = u128::from_be_bytes(reader.array()?);
        let record = TokenRecord { fingerprint, expires: Time(reader.varint()?) };
        reader.finish()?;
        Ok(record)
    }
}

impl NextId {
    pub(crate) fn encode(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<NextId, Malformed> {
        let mut reader = Reader::new(bytes);
        let next = NextId(reader.u32()?);
        reader.finish()?;
        Ok(next)
    }
}

impl LiveBytes {
    pub(crate) fn encode(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<LiveBytes, Malformed> {
        let mut reader = Reader::new(bytes);
        let live = LiveBytes(reader.u64()?);
        reader.finish()?;
        Ok(live)
    }
}
