//! Columns: the rows that store one. A block holds the cells of 256 consecutive ordinals.
//!
//! ```text
//! partition (as a part of a key), block u64
//!     prefix length u8, width u8, what all values begin with,
//!     the least value, the greatest value, 256 bits for the ordinals that have cells, their values
//! ```
//!
//! Bits are least significant first. Values omit the prefix, and are as wide as the longest is
//! without trailing zeros.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use keyloom_value::{KeyBytes, Value};

use super::{Malformed, Reader, SpaceId, Writer};
use crate::ColumnValue;

/// Number of ordinals in a block, in bits. Measured: with more, a single write costs more than a
/// read saves.
const BLOCK_BITS: u32 = 8;
const WORDS: usize = (1 << BLOCK_BITS) / 64;

/// Row keys in the space of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnRows(pub(crate) SpaceId);

/// The cells of a block for modification, by the low bits of their ordinals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockMut(pub(crate) BTreeMap<u8, ColumnValue>);

/// The cells of an encoded block, decoded in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'b> {
    prefix: &'b [u8],
    width: usize,
    least: &'b [u8],
    greatest: &'b [u8],
    bits: [u64; WORDS],
    /// How many cells come before each word of the bits.
    before: [usize; WORDS],
    cells: &'b [u8],
}

/// The leading bytes, after the prefix, of the least and the greatest value in bounds, as numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    least: u64,
    greatest: u64,
}

/// Returns the leading bytes after the prefix as a number.
fn head(rest: &[u8]) -> u64 {
    match rest.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => rest.iter().fold(0, |head, byte| head << 8 | u64::from(*byte)),
    }
}

/// Returns the block of an ordinal, and its index there.
pub(crate) fn block_of(ordinal: u64) -> (u64, u8) {
    (ordinal >> BLOCK_BITS, ordinal as u8)
}

impl ColumnRows {
    /// Returns the prefix of the row keys of a partition.
    pub(crate) fn partition(self, partition: &[u8]) -> Vec<u8> {
        let mut key = KeyBytes::with_capacity(partition.len() + 8);
        let pushed = key.push(&Value::B(partition.to_vec()));
        debug_assert!(pushed.is_ok(), "bytes can be part of a key");
        self.0.row(key.as_bytes())
    }

    /// Returns the row key of a block, from the prefix of its partition.
    pub(crate) fn block(partition: &[u8], block: u64) -> Vec<u8> {
        [partition, &block.to_be_bytes()].concat()
    }

    /// Returns the block number in a row key.
    pub(crate) fn block_in(row: &[u8]) -> Result<u64, Malformed> {
        let number = row.last_chunk().ok_or(Malformed("a column block has no number"))?;
        Ok(u64::from_be_bytes(*number))
    }
}

impl BlockMut {
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let (least, greatest) = (self.0.values().min()?, self.0.values().max()?);
        let longest = self.0.values().map(|value| value.significant().len()).max()?;
        let is_same = |(left, right): &(&u8, &u8)| left == right;
        let alike = least.0.iter().zip(&greatest.0).take_while(is_same).count();
        let prefix = alike.min(longest);
        let width = longest - prefix;
        let mut out = Writer::with_capacity(2 + prefix + (2 + self.0.len()) * width + 8 * WORDS);
        out.u8(prefix as u8);
        out.u8(width as u8);
        out.raw(&least.0[..prefix]);
        out.raw(&least.0[prefix..longest]);
        out.raw(&greatest.0[prefix..longest]);
        let mut bits = [0_u64; WORDS];
        for low in self.0.keys() {
            bits[usize::from(low >> 6)] |= 1 << (low & 63);
        }
        bits.iter().for_each(|word| out.raw(&word.to_le_bytes()));
        self.0.values().for_each(|value| out.raw(&value.0[prefix..longest]));
        Some(out.into_vec())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<BlockMut, Malformed> {
        let block = Block::decode(bytes)?;
        let cells = (0..=u8::MAX).filter_map(|low| Some((low, block.get(low)?)));
        Ok(BlockMut(cells.collect()))
    }
}

impl<'b> Block<'b> {
    pub(crate) fn decode(bytes: &'b [u8]) -> Result<Block<'b>, Malformed> {
        let mut reader = Reader::new(bytes);
        let (prefix, width) = (usize::from(reader.u8()?), usize::from(reader.u8()?));
        if prefix + width > ColumnValue::BYTES {
            return Err(Malformed("a column block has values that are too long"));
        }
        let (prefix, least, greatest) =
            (reader.raw(prefix)?, reader.raw(width)?, reader.raw(width)?);
        let (mut bits, mut before, mut count) = ([0; WORDS], [0; WORDS], 0);
        for (bits, before) in bits.iter_mut().zip(&mut before) {
            *bits = u64::from_le_bytes(reader.array()?);
            *before = count;
            count += bits.count_ones() as usize;
        }
        let cells = reader.raw(count * width)?;
        reader.finish()?;
        Ok(Block { prefix, width, least, greatest, bits, before, cells })
    }

    pub(crate) fn least(&self) -> ColumnValue {
        self.value(self.least)
    }

    pub(crate) fn greatest(&self) -> ColumnValue {
        self.value(self.greatest)
    }

    /// Returns the value of the ordinal with these low bits.
    pub(crate) fn get(&self, low: u8) -> Option<ColumnValue> {
        Some(self.value(self.rest(low)?))
    }

    /// Returns the value of the ordinal with these low bits, unless it is out of bounds: most are,
    /// which a few bytes show.
    pub(crate) fn get_within(&self, low: u8, heads: Heads) -> Option<ColumnValue> {
        let rest = self.rest(low)?;
        let head = head(rest);
        (heads.least <= head && head <= heads.greatest).then(|| self.value(rest))
    }

    /// Returns the leading bytes, after the prefix, of values of this block that are within bounds.
    pub(crate) fn heads(&self, least: &ColumnValue, greatest: &ColumnValue) -> Heads {
        let (least_prefix, least_rest) = least.0.split_at(self.prefix.len());
        let (greatest_prefix, greatest_rest) = greatest.0.split_at(self.prefix.len());
        // If the prefix itself is out of bounds, so is every value.
        Heads {
            least: match least_prefix.cmp(self.prefix) {
                Ordering::Less => 0,
                Ordering::Equal => head(&least_rest[..self.width]),
                Ordering::Greater => u64::MAX,
            },
            greatest: match greatest_prefix.cmp(self.prefix) {
                Ordering::Less => 0,
                Ordering::Equal => head(&greatest_rest[..self.width]),
                Ordering::Greater => u64::MAX,
            },
        }
    }

    fn rest(&self, low: u8) -> Option<&'b [u8]> {
        let (word, bit) = (usize::from(low >> 6), 1_u64 << (low & 63));
        if self.bits[word] & bit == 0 {
            return None;
        }
        let at = self.before[word] + (self.bits[word] & (bit - 1)).count_ones() as usize;
        Some(&self.cells[at * self.width..][..self.width])
    }

    fn value(&self, rest: &[u8]) -> ColumnValue {
        let mut value = [0; ColumnValue::BYTES];
        let (head, tail) = value.split_at_mut(self.prefix.len());
        head.copy_from_slice(self.prefix);
        tail[..self.width].copy_from_slice(rest);
        ColumnValue(value)
    }
}
