//! The part of a list that is left to read for a page: its index rows, in one direction, of all shards.

use keyloom_model::{Slot, Unreadable, attribute};
use keyloom_store::{Direction, ItemsPage};
use keyloom_value::{Item, KeyBytes, Name, Value};

use crate::bound::PageBound;
use crate::error::unreadable;
use crate::fetch::{RawKey, Rows, take_bytes};
use crate::partition::{IndexRows, ItemsRequest, MergedPage, MergedRequest, Partition, share};
use crate::span::Span;
use crate::{Budget, Error, ReadCost};

/// A part of a list.
pub(crate) struct ListPart<'p> {
    /// One for each shard.
    partitions: Vec<Partition<'p>>,
    /// The name of the sort attribute.
    sort: Name,
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

impl<'p> ListPart<'p> {
    /// The positions of a span in a list with these shards.
    pub(crate) fn new(
        slot: Slot,
        shards: &'p [KeyBytes],
        span: Span,
        direction: Direction,
    ) -> Result<ListPart<'p>, Error> {
        let partitions = Partition::all_of_slot(slot, shards)?;
        Ok(ListPart { partitions, sort: slot.sort(), direction, span })
    }

    /// The number of shards.
    pub(crate) fn shards(&self) -> usize {
        self.partitions.len()
    }

    /// Reads the first index rows of all shards, in the order of reading: at least so many, unless
    /// there are fewer, the budget is spent, or the only shard returns less. No shard is read further
    /// than that.
    pub(crate) async fn read(
        &self,
        rows: Rows<'_>,
        limit: usize,
        budget: Budget,
        cost: &mut ReadCost,
    ) -> Result<MergedPage, Error> {
        let (mut span, mut each) = (self.span.clone(), share(limit, self.shards()));
        let mut page = self.read_span(&span, each, rows, cost).await?;
        while self.shards() > 1 && page.items.len() < limit && !cost.has_spent(budget) {
            let Some(last) = page.last.take() else { break };
            span = span.after(&last, self.direction);
            // Everything that was read of the shard that is furthest behind is on the page, so what is
            // read of one shard is in all never more than what was asked for.
            each = each.saturating_mul(2).min(limit - page.items.len());
            let more = self.read_span(&span, each, rows, cost).await?;
            page.items.extend(more.items);
            page.last = more.last;
        }
        Ok(page)
    }

    /// Reads the first index rows within a span.
    pub(crate) async fn read_span(
        &self,
        span: &Span,
        limit: usize,
        rows: Rows<'_>,
        cost: &mut ReadCost,
    ) -> Result<MergedPage, Error> {
        let ListPart { partitions, direction, .. } = self;
        let request = MergedRequest { partitions, span, direction: *direction, limit };
        let mut page = request.read(rows, cost).await?;
        if self.shards() > 1 {
            // While an index catches up with another number of shards, an entity is in two of them.
            let position = |row: &mut Item| self.position(row).ok().map(<[u8]>::to_vec);
            page.items.dedup_by_key(position);
        }
        Ok(page)
    }

    /// Reads the first entities of what is left, with their index rows; none if the store cannot do
    /// that in one call.
    pub(crate) async fn read_items(
        &self,
        rows: Rows<'_>,
        limit: usize,
        bytes_max: u64,
        cost: &mut ReadCost,
    ) -> Result<Option<ItemsPage>, Error> {
        let [partition] = &self.partitions[..] else { return Ok(None) };
        let (rows_of_index, direction) = (IndexRows::In(&self.span), self.direction);
        let request = ItemsRequest { partition, rows: rows_of_index, direction, limit, bytes_max };
        request.read(rows, cost).await
    }

    /// Whether an own row is in the list, at a position. That alone decides: the index may lag behind.
    pub(crate) fn has(&self, row: &Item, position: &[u8]) -> bool {
        self.partitions.iter().any(|partition| partition.has(row, position))
    }

    /// The entry of an index row.
    pub(crate) fn entry(&self, mut row: Item) -> Result<Entry, Error> {
        let wrong = |row: &Item| unreadable(row, Unreadable { attribute: attribute::SORT });
        let position = take_bytes(&mut row, self.sort.as_str()).ok_or_else(|| wrong(&row))?;
        Ok(Entry { position, key: RawKey::take(&mut row).ok_or_else(|| wrong(&row))? })
    }

    /// The position of an index row or an own row.
    pub(crate) fn position<'r>(&self, row: &'r Item) -> Result<&'r [u8], Error> {
        let wrong = || unreadable(row, Unreadable { attribute: attribute::SORT });
        row.get(self.sort.as_str()).and_then(Value::as_b).ok_or_else(wrong)
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
