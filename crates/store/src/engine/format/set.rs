//! Sets: the rows that store one.
//!
//! ```text
//! 0                      next free id of a large set: u32
//! 1, name                small: 0, count, first ordinal, differences  large: 1, id, members
//! 2, id, chunk, 0        the chunk's members, as of its last folding
//! 2, id, chunk, 1        joined since: count, then u16 each; left since: u16 each, to the end
//! ```
//!
//! A chunk is the ordinals that share their upper 48 bits, which are its number. Its members are
//! their lower 16 bits, ascending, two bytes each, least significant first; or, from 4,096 members
//! on, a bit for every ordinal of the chunk: 8,192 bytes, so that the length distinguishes the two.

use std::collections::BTreeSet;

use super::{Malformed, Reader, SpaceId, Writer};
use crate::Members;

/// Most members of a set without chunks, which is a single row.
pub(crate) const SMALL_MAX: usize = 64;
/// Most ordinals in a delta before it is folded into its chunk. Measured: a change in a set of
/// millions costs half of rewriting the chunk each time, and dirties hundreds of bytes instead of 8
/// KiB.
const DELTA_MAX: usize = 64;
/// A chunk up to this many bytes is rewritten without a delta.
const CHUNK_BYTES_SMALL: usize = 256;
/// Size of a chunk in bits form.
const BITS_BYTES: usize = 8192;

const NEXT: u8 = 0;
const NAMES: u8 = 1;
const CHUNKS: u8 = 2;

const SMALL: u8 = 0;
const LARGE: u8 = 1;

/// The id of a large set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetId(pub(crate) u32);

/// The number of a chunk: the upper bits of its ordinals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChunkNo(u64);

impl ChunkNo {
    pub(crate) const FIRST: ChunkNo = ChunkNo(0);
    pub(crate) const LAST: ChunkNo = ChunkNo(u64::MAX >> 16);

    /// Returns the chunk of an ordinal.
    pub(crate) fn of(ordinal: u64) -> ChunkNo {
        ChunkNo(ordinal >> 16)
    }

    /// Returns its first ordinal.
    pub(crate) fn first(self) -> u64 {
        self.0 << 16
    }

    /// Returns its last ordinal.
    pub(crate) fn last(self) -> u64 {
        self.first() | 0xffff
    }

    fn to_bytes(self) -> [u8; 6] {
        let [_, _, bytes @ ..] = self.0.to_be_bytes();
        bytes
    }

    fn from_bytes([a, b, c, d, e, f]: [u8; 6]) -> ChunkNo {
        ChunkNo(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }
}

/// The value of a set's name row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SetRecord {
    /// All of its members.
    Small(BTreeSet<u64>),
    /// Its members are in chunks.
    Large { id: SetId, members: u64 },
}

/// One chunk of a set, without its delta.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk(Vec<u8>);

/// A bit for every ordinal of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u8>);

/// The ordinals that have joined and left a chunk since it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) joined: BTreeSet<u16>,
    pub(crate) left: BTreeSet<u16>,
}

/// Row keys in the space of a table's sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetRows(pub(crate) SpaceId);

impl SetRows {
    pub(crate) fn next(self) -> Vec<u8> {
        self.0.row(&[NEXT])
    }

    pub(crate) fn name(self, name: &[u8]) -> Vec<u8> {
        let mut row = self.0.row(&[NAMES]);
        row.extend_from_slice(name);
        row
    }

    /// Returns a bound after the rows of all names with a prefix.
    pub(crate) fn names_end(self, prefix: &[u8]) -> Vec<u8> {
        let end = keyloom_value::KeyBytes::after_prefix(&self.name(prefix));
        end.unwrap_or_else(|| self.0.end())
    }

    /// Returns the name in such a row.
    pub(crate) fn name_of(row: &[u8]) -> Result<&[u8], Malformed> {
        let (_, key) = SpaceId::split(row)?;
        key.split_first().map(|(_, name)| name).ok_or(Malformed("a set has no name"))
    }

    pub(crate) fn chunk(self, id: SetId, chunk: ChunkNo) -> Vec<u8> {
        self.chunk_row(id, chunk, 0)
    }

    pub(crate) fn delta(self, id: SetId, chunk: ChunkNo) -> Vec<u8> {
        self.chunk_row(id, chunk, 1)
    }

    /// Returns a bound after the rows of a chunk.
    pub(crate) fn chunk_end(self, id: SetId, chunk: ChunkNo) -> Vec<u8> {
        self.chunk_row(id, chunk, 2)
    }

    fn chunk_row(self, id: SetId, chunk: ChunkNo, part: u8) -> Vec<u8> {
        let mut row = self.0.row(&[CHUNKS]);
        row.extend_from_slice(&id.0.to_be_bytes());
        row.extend_from_slice(&chunk.to_bytes());
        row.push(part);
        row
    }

    /// Returns the chunk of a row, and whether the row is its delta.
    pub(crate) fn chunk_of(row: &[u8]) -> Result<(ChunkNo, bool), Malformed> {
        let mut reader = Reader::new(row);
        reader.raw(9)?;
        let chunk = ChunkNo::from_bytes(reader.array()?);
        match reader.u8()? {
            0 => Ok((chunk, false)),
            1 => Ok((chunk, true)),
            _ => Err(Malformed("a chunk of a set has a row of an unknown kind")),
        }
    }
}

impl SetRecord {
    pub(crate) fn len(&self) -> u64 {
        match self {
            SetRecord::Small(members) => members.len() as u64,
            SetRecord::Large { members, .. } => *members,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            SetRecord::Small(members) => {
                out.u8(SMALL);
                out.size(members.len());
                let mut before = 0;
                for member in members {
                    out.varint(member - before);
                    before = *member;
                }
            }
            SetRecord::Large { id, members } => {
                out.u8(LARGE);
                out.varint(id.0.into());
                out.varint(*members);
            }
        }
        out.into_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<SetRecord, Malformed> {
        let mut reader = Reader::new(bytes);
        let record = match reader.u8()? {
            SMALL => {
                let count = reader.count()?;
                let mut members = BTreeSet::new();
                let mut before = 0u64;
                for _ in 0..count {
                    let next = before.checked_add(reader.varint()?);
                    before = next.ok_or(Malformed("an ordinal of a set is too large"))?;
                    members.insert(before);
                }
                SetRecord::Small(members)
            }
            LARGE => {
                SetRecord::Large { id: SetId(reader.varint_u32()?), members: reader.varint()? }
            }
            _ => return Err(Malformed("a set has an unknown kind")),
        };
        reader.finish()?;
        Ok(record)
    }
}

impl Chunk {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Chunk, Malformed> {
        let is_list = bytes.len() < BITS_BYTES && bytes.len().is_multiple_of(2);
        if !is_list && bytes.len() != BITS_BYTES {
            return Err(Malformed("a chunk of a set has a wrong length"));
        }
        if is_list && !lows(bytes).is_sorted_by(|a, b| a < b) {
            return Err(Malformed("a chunk of a set is out of order"));
        }
        Ok(Chunk(bytes.to_vec()))
    }

    pub(crate) fn contains(&self, low: u16) -> bool {
        if self.0.len() == BITS_BYTES {
            return self.0[usize::from(low / 8)] & (1 << (low % 8)) != 0;
        }
        let (pairs, _) = self.0.as_chunks::<2>();
        pairs.binary_search_by_key(&low, |pair| u16::from_le_bytes(*pair)).is_ok()
    }

    /// Returns its members as ordinals.
    pub(crate) fn members(&self, chunk: ChunkNo) -> Members {
        let first = chunk.first();
        match self.0.len() {
            BITS_BYTES => Members::from_bits(first, &self.0),
            // Bits are added as a whole, members one by one.
            CHUNK_BYTES_SMALL.. => Members::from_bits(first, &Bits::of(lows(&self.0)).0),
            _ => lows(&self.0).map(|low| first | u64::from(low)).collect(),
        }
    }

    /// Whether this many changes should go into a delta: rewriting the chunk itself would cost much
    /// more.
    pub(crate) fn takes_delta(&self, changes: usize) -> bool {
        self.0.len() > CHUNK_BYTES_SMALL && changes <= DELTA_MAX
    }

    /// Returns its members as bits, for modification.
    pub(crate) fn to_bits(&self) -> Bits {
        if self.0.len() == BITS_BYTES { Bits(self.0.clone()) } else { Bits::of(lows(&self.0)) }
    }
}

impl Bits {
    fn of(lows: impl Iterator<Item = u16>) -> Bits {
        let mut bits = Bits(vec![0; BITS_BYTES]);
        for low in lows {
            bits.replace(low, true);
        }
        bits
    }

    /// Sets whether an ordinal is a member; returns whether it was one.
    pub(crate) fn replace(&mut self, low: u16, is_in: bool) -> bool {
        let (byte, bit) = (&mut self.0[usize::from(low / 8)], 1 << (low % 8));
        let was_in = *byte & bit != 0;
        if is_in {
            *byte |= bit;
        } else {
            *byte &= !bit;
        }
        was_in
    }

    /// Applies a delta.
    pub(crate) fn fold(&mut self, delta: &Delta) {
        for (lows, is_in) in [(&delta.joined, true), (&delta.left, false)] {
            for low in lows {
                self.replace(*low, is_in);
            }
        }
    }

    /// Returns the stored form; `None` if there are no members.
    pub(crate) fn into_chunk(self) -> Option<Chunk> {
        let (words, _) = self.0.as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let count: u32 = words.clone().map(u64::count_ones).sum();
        if count as usize * 2 >= BITS_BYTES {
            return Some(Chunk(self.0));
        }
        let mut lows = Vec::with_capacity(count as usize * 2);
        for (index, mut word) in words.enumerate() {
            while word != 0 {
                let low = (index as u32 * u64::BITS + word.trailing_zeros()) as u16;
                lows.extend(low.to_le_bytes());
                word &= word - 1;
            }
        }
        (count > 0).then_some(Chunk(lows))
    }
}

fn lows(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair))
}

impl Delta {
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.joined.len() + self.left.len()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        debug_assert!(self.joined.is_disjoint(&self.left), "an ordinal has joined and left");
        let mut out = Writer::default();
        out.size(self.joined.len());
        for low in self.joined.iter().chain(&self.left) {
            out.raw(&low.to_le_bytes());
        }
        out.into_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Delta, Malformed> {
        let mut reader = Reader::new(bytes);
        let joined = reader.count()?;
        let joined = lows(reader.raw(joined * 2)?).collect();
        if !reader.rest().len().is_multiple_of(2) {
            return Err(Malformed("a delta of a set is truncated"));
        }
        let delta = Delta { joined, left: lows(reader.rest()).collect() };
        if !delta.joined.is_disjoint(&delta.left) {
            return Err(Malformed("an ordinal has joined and left a set"));
        }
        Ok(delta)
    }

    /// Applies the delta to the members of a chunk.
    pub(crate) fn apply(&self, chunk: ChunkNo, members: &mut Members) {
        let ordinal = |low: &u16| chunk.first() | u64::from(*low);
        for low in &self.joined {
            members.insert(ordinal(low));
        }
        for low in &self.left {
            members.remove(ordinal(low));
        }
    }
}
