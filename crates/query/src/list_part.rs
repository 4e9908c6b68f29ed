//! The part of a list that is left to read for a page: its index rows, in one direction. Reads nothing
//! itself.

use keyloom_model::{Unreadable, attribute};
use keyloom_store::Direction;
use keyloom_value::Item;

use crate::Error;
use crate::bound::PageBound;
use crate::error::unreadable;
use crate::fetch::{RawKey, take_bytes};
use crate::partition::{PageRequest, Partition};
use crate::span::Span;

/// A part of a list.
pub(crate) struct ListPart<'p> {
    pub(crate) partition: Partition<'p>,
    /// The direction of reading.
    pub(crate) direction: Direction,
    /// The positions in it.
    pub(crate) span: Span,
}

/// An index row of a list.
pub(crate) struct Entry {
    pub(crate) position: Vec<u8>,
    pub(crate) key: RawKey,
}

impl ListPart<'_> {
    /// A request for the first index rows.
    pub(crate) fn request(&self, limit: usize) -> PageRequest<'_> {
        let ListPart { partition, direction, span } = self;
        PageRequest { partition, span, direction: *direction, limit }
    }

    /// The entry of an index row.
    pub(crate) fn entry(&self, mut row: Item) -> Result<Entry, Error> {
        let wrong = |row: &Item| unreadable(row, Unreadable { attribute: attribute::SORT });
        let position = take_bytes(&mut row, self.partition.sort()).ok_or_else(|| wrong(&row))?;
        Ok(Entry { position, key: RawKey::take(&mut row).ok_or_else(|| wrong(&row))? })
    }

    /// The position of an index row.
    pub(crate) fn position(&self, row: &Item) -> Result<Vec<u8>, Error> {
        self.partition.sort_of(row).map(<[u8]>::to_vec)
    }

    /// Leaves out everything up to a position.
    pub(crate) fn skip(&mut self, position: Vec<u8>) {
        self.narrow(&PageBound::behind(position, self.direction));
    }

    /// Leaves out everything before a bound.
    pub(crate) fn narrow(&mut self, bound: &PageBound) {
        let span = std::mem::replace(&mut self.span, Span::EMPTY);
        self.span = span.beyond(bound, self.direction);
    }

    /// Puts entries into the order of reading.
    pub(crate) fn sort(&self, entries: &mut [Entry]) {
        entries.sort_by(|left, right| match self.direction {
            Direction::Forward => left.position.cmp(&right.position),
            Direction::Backward => right.position.cmp(&left.position),
        });
    }
}
