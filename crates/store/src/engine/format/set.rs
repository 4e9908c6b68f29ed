//! Sets: the rows that one is kept in.
//!
//! ```text
//! 0                      next free number of a set: u32
//! 1, name                small: 0, count, first ordinal, distances    large: 1, number, members
//! 2, number, chunk, 0    the chunk's members, as of its last folding
//! 2, number, chunk, 1    joined since: count, then u16 each; left since: u16 each, to the end
//! ```
//!
//! A chunk is the ordinals that have their upper 48 bits in common; these are its number. Its members are their lower 16
//! bits, ascending, two bytes each, least significant first; or, if there are 4,096 or more, a bit
//! for every ordinal of the chunk: 8,192 bytes, so that the length tells one from the other.

use std::collections::BTreeSet;

use super::{Malformed, Reader, SpaceId, Writer};
use crate::Members;

/// As many members as a set has without chunks: one row is all of it.
pub(crate) const SMALL_MAX: usize = 64;
/// As many ordinals as wait in a delta before they are folded into their chunk. Measured: a change
/// in a set of millions costs half of what it costs to write the chunk each time, and dirties
/// hundreds of bytes in place of 8 KiB.
const DELTA_MAX: usize = 64;
/// A chunk of so few bytes is written anew at once.
const CHUNK_BYTES_SMALL: usize = 256;
/// Bytes of a chunk in bits.
const BITS_BYTES: usize = 8192;

const NEXT: u8 = 0;
const NAMES: u8 = 1;
const CHUNKS: u8 = 2;

const SMALL: u8 = 0;
const LARGE: u8 = 1;

/// The number of a large set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetId(pub(crate) u32);

/// The number of a chunk: what its ordinals have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChunkNo(u64);

impl ChunkNo {
    pub(crate) const FIRST: ChunkNo = ChunkNo(0);
    pub(crate) const LAST: ChunkNo = ChunkNo(u64::MAX >> 16);

    /// The chunk that an ordinal is in.
    pub(crate) fn of(ordinal: u64) -> ChunkNo {
        ChunkNo(ordinal >> 16)
    }

    /// Its first ordinal.
    pub(crate) fn first(self) -> u64 {
        self.0 << 16
    }

    /// Its last ordinal.
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

/// What is kept under the name of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SetRecord {
    /// All of its members.
    Small(BTreeSet<u64>),
    /// Its members are in chunks.
    Large { id: SetId, members: u64 },
}

/// One chunk of a set, apart from its delta.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk(Vec<u8>);

/// A bit for every ordinal of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u8>);

/// What has joined and left a chunk since it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) joined: BTreeSet<u16>,
    pub(crate) left: BTreeSet<u16>,
}

/// Rows of the space that a table's sets are in.
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

    /// After the rows of all names that begin like this.
    pub(crate) fn names_end(self, prefix: &[u8]) -> Vec<u8> {
        let end = keyloom_value::KeyBytes::after_prefix(&self.name(prefix));
        end.unwrap_or_else(|| self.0.end())
    }

    /// The name in such a row.
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

    /// After the rows of a chunk.
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

    /// Which chunk a row is of, and whether it is the delta.
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
            _ => return Err(Malformed("a set is of an unknown kind")),
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

    /// Its members as ordinals.
    pub(crate) fn members(&self, chunk: ChunkNo) -> Members {
        let first = chunk.first();
        match self.0.len() {
            BITS_BYTES => Members::from_bits(first, &self.0),
            // Bits are taken in as a whole, members one by one.
            CHUNK_BYTES_SMALL.. => Members::from_bits(first, &Bits::of(lows(&self.0)).0),
            _ => lows(&self.0).map(|low| first | u64::from(low)).collect(),
        }
    }

    /// Whether so many changes should go into a delta: writing the chunk itself would be much more.
    pub(crate) fn takes_delta(&self, changes: usize) -> bool {
        self.0.len() > CHUNK_BYTES_SMALL && changes <= DELTA_MAX
    }

    /// Its members as bits, to be changed.
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

    /// Makes an ordinal a member, or not; returns whether it was one.
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

    /// Lets those join and leave that have.
    pub(crate) fn fold(&mut self, delta: &Delta) {
        for (lows, is_in) in [(&delta.joined, true), (&delta.left, false)] {
            for low in lows {
                self.replace(*low, is_in);
            }
        }
    }

    /// As they are kept; none if there are no members.
    pub(crate) fn into_chunk(self) -> Option<Chunk> {
        let (words, _) = self.0.as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let count: u32 = words.clone().map(u64::count_ones).sum();
        if count as usize * 2 >= BITS_BYTES {
            return Some(Chunk(self.0));
        }
        let mut lows = Vec::with_capacity(count as usize * 2);
        for (place, mut word) in words.enumerate() {
            while word != 0 {
                let low = (place as u32 * u64::BITS + word.trailing_zeros()) as u16;
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
            return Err(Malformed("a delta of a set ends in the middle"));
        }
        let delta = Delta { joined, left: lows(reader.rest()).collect() };
        if !delta.joined.is_disjoint(&delta.left) {
            return Err(Malformed("an ordinal has joined and left a set"));
        }
        Ok(delta)
    }

    /// Brings members of a chunk up to date.
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
