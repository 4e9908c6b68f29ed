//! Ordinals in memory, compressed: what parts of sets are read as and combined in.

use std::ops::RangeInclusive;

use roaring::{RoaringBitmap, RoaringTreemap};

use crate::Direction;

/// Some ordinals, each once, ascending. A member takes two bytes at most where there are many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members(RoaringTreemap);

impl Members {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this one is among them.
    pub fn contains(&self, ordinal: u64) -> bool {
        self.0.contains(ordinal)
    }

    /// Adds one; whether it is new.
    pub fn insert(&mut self, ordinal: u64) -> bool {
        self.0.insert(ordinal)
    }

    /// Removes one; whether it was there.
    pub fn remove(&mut self, ordinal: u64) -> bool {
        self.0.remove(ordinal)
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.0.iter()
    }

    /// All of them, ascending or descending.
    pub fn along(&self, direction: Direction) -> Box<dyn Iterator<Item = u64> + Send + '_> {
        match direction {
            Direction::Forward => Box::new(self.0.iter()),
            Direction::Backward => Box::new(self.0.iter().rev()),
        }
    }

    /// The least.
    pub fn first(&self) -> Option<u64> {
        self.0.min()
    }

    /// The greatest.
    pub fn last(&self) -> Option<u64> {
        self.0.max()
    }

    /// Keeps those that are in both.
    pub fn and(&mut self, other: &Members) {
        self.0 &= &other.0;
    }

    /// Adds those of the other.
    pub fn or(&mut self, other: &Members) {
        self.0 |= &other.0;
    }

    /// Removes those of the other.
    pub fn and_not(&mut self, other: &Members) {
        self.0 -= &other.0;
    }

    /// Keeps those within a range.
    pub fn keep(&mut self, range: RangeInclusive<u64>) {
        let (first, last) = range.into_inner();
        self.0.remove_range(..first);
        self.0.remove_range((std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded));
    }

    /// Members given as bits, the least significant first, of the ordinals from `first` on, which
    /// is a multiple of 65,536.
    pub(crate) fn from_bits(first: u64, bits: &[u8]) -> Members {
        // The upper half of an ordinal names a bitmap, in which the lower half is a member.
        let bitmap = RoaringBitmap::from_lsb0_bytes(first as u32, bits);
        Members(RoaringTreemap::from_bitmaps([((first >> 32) as u32, bitmap)]))
    }
}

impl FromIterator<u64> for Members {
    fn from_iter<I: IntoIterator<Item = u64>>(ordinals: I) -> Members {
        Members(ordinals.into_iter().collect())
    }
}
