//! Compressed sets of ordinals in memory, in which parts of sets are read and combined.

use std::ops::RangeInclusive;

use roaring::{RoaringBitmap, RoaringTreemap};

use crate::Direction;

/// A sorted set of ordinals. Dense members take at most two bytes each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members(RoaringTreemap);

impl Members {
    /// Returns how many there are.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the set contains an ordinal.
    pub fn contains(&self, ordinal: u64) -> bool {
        self.0.contains(ordinal)
    }

    /// Adds an ordinal; returns whether it is new.
    pub fn insert(&mut self, ordinal: u64) -> bool {
        self.0.insert(ordinal)
    }

    /// Removes an ordinal; returns whether it was present.
    pub fn remove(&mut self, ordinal: u64) -> bool {
        self.0.remove(ordinal)
    }

    /// Iterates in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.0.iter()
    }

    /// Iterates in ascending or descending order.
    pub fn along(&self, direction: Direction) -> Box<dyn Iterator<Item = u64> + Send + '_> {
        match direction {
            Direction::Forward => Box::new(self.0.iter()),
            Direction::Backward => Box::new(self.0.iter().rev()),
        }
    }

    /// Returns the least ordinal.
    pub fn first(&self) -> Option<u64> {
        self.0.min()
    }

    /// Returns the greatest ordinal.
    pub fn last(&self) -> Option<u64> {
        self.0.max()
    }

    /// Intersects with another set.
    pub fn and(&mut self, other: &Members) {
        self.0 &= &other.0;
    }

    /// Adds all members of another set.
    pub fn or(&mut self, other: &Members) {
        self.0 |= &other.0;
    }

    /// Removes all members of another set.
    pub fn and_not(&mut self, other: &Members) {
        self.0 -= &other.0;
    }

    /// Keeps only the members within a range.
    pub fn keep(&mut self, range: RangeInclusive<u64>) {
        let (first, last) = range.into_inner();
        self.0.remove_range(..first);
        self.0.remove_range((std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded));
    }

    /// Decodes a bitmap, least significant bit first, of the ordinals from `first` on, which is a
    /// multiple of 65,536.
    pub(crate) fn from_bits(first: u64, bits: &[u8]) -> Members {
        // The upper half of an ordinal selects a bitmap; the lower half is a member of it.
        let bitmap = RoaringBitmap::from_lsb0_bytes(first as u32, bits);
        Members(RoaringTreemap::from_bitmaps([((first >> 32) as u32, bitmap)]))
    }
}

impl FromIterator<u64> for Members {
    fn from_iter<I: IntoIterator<Item = u64>>(ordinals: I) -> Members {
        Members(ordinals.into_iter().collect())
    }
}
