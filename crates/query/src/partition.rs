//! A partition of the table or of an index, and reading pages of it.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Slot, Unreadable};
use keyloom_store::{
    Consistency, Direction, IndexName, ItemsPage, Page, Query, ReadItems, TableName,
};
use keyloom_value::{Item, KeyBytes, KeyCondition, Name, Value};

use crate::error::unreadable;
use crate::fetch::Rows;
use crate::span::Span;
use crate::{Error, ReadCost};

/// A partition, by its key.
#[derive(Clone, Debug)]
pub(crate) struct Partition<'p> {
    /// The index, or none for the table.
    index: Option<IndexName>,
    attribute: Name,
    key: &'p [u8],
    sort: Name,
}

/// A request for rows of a partition, in key order.
pub(crate) struct PageRequest<'r> {
    pub(crate) partition: &'r Partition<'r>,
    pub(crate) span: &'r Span,
    pub(crate) direction: Direction,
    /// How many rows to read, at most.
    pub(crate) limit: usize,
}

impl<'p> Partition<'p> {
    /// A partition of the table.
    pub(crate) fn of_table(key: &'p [u8]) -> Partition<'p> {
        Partition { index: None, attribute: PARTITION.into(), key, sort: SORT.into() }
    }

    /// A partition of the index of a slot.
    pub(crate) fn of_slot(slot: Slot, key: &'p [u8]) -> Result<Partition<'p>, Error> {
        let index = TableName::new(&slot.name()).map_err(keyloom_store::Error::from)?;
        Ok(Partition { index: Some(index), attribute: slot.partition(), key, sort: slot.sort() })
    }

    /// Partitions of the index of a slot.
    pub(crate) fn all_of_slot(slot: Slot, keys: &'p [KeyBytes]) -> Result<Vec<Self>, Error> {
        keys.iter().map(|key| Partition::of_slot(slot, key.as_bytes())).collect()
    }

    /// The first rows of a span.
    pub(crate) fn first<'r>(&'r self, span: &'r Span, limit: usize) -> PageRequest<'r> {
        PageRequest { partition: self, span, direction: Direction::Forward, limit }
    }

    /// The sort key of a row of this partition.
    pub(crate) fn sort_of<'r>(&self, row: &'r Item) -> Result<&'r [u8], Error> {
        let wrong = || unreadable(row, Unreadable { attribute: SORT });
        row.get(self.sort.as_str()).and_then(Value::as_b).ok_or_else(wrong)
    }

    /// The condition for rows with these sort keys.
    fn key_condition(&self, span: &Span) -> KeyCondition {
        let key = KeyCondition::equal(&self.attribute, self.key.to_vec());
        match span.test() {
            Some(test) => key.and(&self.sort, test),
            None => key,
        }
    }

    /// Whether a row is in this partition, at a sort key.
    pub(crate) fn has(&self, row: &Item, sort: &[u8]) -> bool {
        let bytes = |name: &Name| row.get(name.as_str()).and_then(Value::as_b);
        bytes(&self.attribute) == Some(self.key) && bytes(&self.sort) == Some(sort)
    }
}

/// The partitions over which something is spread, and a request for its rows in key order.
pub(crate) struct MergedRequest<'r> {
    pub(crate) partitions: &'r [Partition<'r>],
    pub(crate) span: &'r Span,
    pub(crate) direction: Direction,
    /// How many rows to read of each partition, at most.
    pub(crate) limit: usize,
}

/// How many rows of each shard to read for the first `count` of all of them together: ids are spread
/// evenly, so more than four standard deviations beyond the mean are almost never needed.
pub(crate) fn share(count: usize, shards: usize) -> usize {
    let mean = count.div_ceil(shards.max(1));
    (mean + 4 * mean.isqrt() + 4).min(count)
}

/// The first rows of several partitions, in key order.
pub(crate) struct MergedPage {
    pub(crate) items: Vec<Item>,
    /// The sort key up to which all partitions were read; none if nothing follows.
    pub(crate) last: Option<Vec<u8>>,
}

impl MergedPage {
    /// The rows of both pages of the table, forward. A row with the same sort key in both is the same
    /// one; the later page has it as it is now.
    pub(crate) fn or(self, later: MergedPage) -> MergedPage {
        let last = match (self.last, later.last) {
            (Some(left), Some(right)) => Some(left.min(right)),
            (left, right) => left.or(right),
        };
        let sorted = |row: Item| {
            let sort = row.get(SORT).and_then(Value::as_b).unwrap_or_default().to_vec();
            (sort, row)
        };
        let all = self.items.into_iter().chain(later.items).map(sorted);
        let mut items: BTreeMap<Vec<u8>, Item> = all.collect();
        items.retain(|sort, _| last.as_ref().is_none_or(|last| sort <= last));
        MergedPage { items: items.into_values().collect(), last }
    }
}

impl MergedRequest<'_> {
    /// Reads a page of each partition, all at once, and merges what is complete. A row beyond the end
    /// of another page is left out: something could come before it.
    pub(crate) async fn read(
        self,
        rows: Rows<'_>,
        cost: &mut ReadCost,
    ) -> Result<MergedPage, Error> {
        let MergedRequest { partitions, span, direction, limit } = self;
        if let [partition] = partitions {
            let page = PageRequest { partition, span, direction, limit }.read(rows, cost).await?;
            let last = page.last_key.as_ref().map(|last| partition.sort_of(last)).transpose()?;
            return Ok(MergedPage { last: last.map(<[u8]>::to_vec), items: page.items });
        }
        let read = partitions.iter().map(|partition| async move {
            let mut cost = ReadCost::default();
            let request = PageRequest { partition, span, direction, limit };
            let page = request.read(rows, &mut cost).await?;
            let sorted = |row: Item| Ok((partition.sort_of(&row)?.to_vec(), row));
            let last = page.last_key.as_ref().map(|last| partition.sort_of(last)).transpose()?;
            let last = last.map(<[u8]>::to_vec);
            let items = page.items.into_iter().map(sorted).collect::<Result<Vec<_>, Error>>()?;
            Ok::<_, Error>((items, last, cost))
        });
        let mut items: Vec<(Vec<u8>, Item)> = vec![];
        let mut end: Option<Vec<u8>> = None;
        let is_before = |left: &Vec<u8>, right: &Vec<u8>| match direction {
            Direction::Forward => left < right,
            Direction::Backward => left > right,
        };
        for (page, last, read) in try_join_all(read).await? {
            items.extend(page);
            cost.add(read);
            end = match (end, last) {
                (Some(end), Some(last)) if is_before(&end, &last) => Some(end),
                (end, last) => last.or(end),
            };
        }
        items.retain(|(sort, _)| end.as_ref().is_none_or(|end| !is_before(end, sort)));
        items.sort_by(|(left, _), (right, _)| match direction {
            Direction::Forward => left.cmp(right),
            Direction::Backward => right.cmp(left),
        });
        Ok(MergedPage { items: items.into_iter().map(|(_, row)| row).collect(), last: end })
    }
}

/// A request for the entities that rows of an index lead to, with those rows.
pub(crate) struct ItemsRequest<'r> {
    pub(crate) partition: &'r Partition<'r>,
    pub(crate) rows: IndexRows<'r>,
    pub(crate) direction: Direction,
    /// How many entities to read, at most.
    pub(crate) limit: usize,
    /// How much to read of them: the last is the one with which it is reached.
    pub(crate) bytes_max: u64,
}

/// Which rows of a partition of an index.
pub(crate) enum IndexRows<'r> {
    /// Those with sort keys in a span.
    In(&'r Span),
    /// Those whose sort keys begin with one of these, in the order of reading.
    Beginning(Vec<Vec<u8>>),
}

impl ItemsRequest<'_> {
    /// Reads items, and adds what it read to the cost. None if the store cannot do it in one call.
    pub(crate) async fn read(
        self,
        rows: Rows<'_>,
        cost: &mut ReadCost,
    ) -> Result<Option<ItemsPage>, Error> {
        let ItemsRequest { partition, rows: wanted, direction, limit, bytes_max } = self;
        let (Some(store), Some(index)) = (rows.store.indexed_items(), &partition.index) else {
            return Ok(None);
        };
        let (key, prefixes) = match wanted {
            IndexRows::In(span) if span.is_empty => return Ok(Some(ItemsPage::default())),
            IndexRows::In(span) => (partition.key_condition(span), vec![]),
            IndexRows::Beginning(prefixes) => (partition.key_condition(&Span::ALL), prefixes),
        };
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let (table, index) = (rows.table.clone(), index.clone());
        let read = ReadItems { table, index, key, prefixes, direction, limit, bytes_max };
        let page = store.read_items(read).await?;
        cost.rows += page.rows() + page.items.len() as u64;
        cost.bytes += page.row_bytes + page.item_bytes;
        Ok(Some(page))
    }
}

impl PageRequest<'_> {
    /// Reads one page, and adds what it read to the cost.
    pub(crate) async fn read(self, rows: Rows<'_>, cost: &mut ReadCost) -> Result<Page, Error> {
        let PageRequest { partition, span, direction, limit } = self;
        if span.is_empty {
            return Ok(Page::default());
        }
        let mut query = Query::new(rows.table, partition.key_condition(span));
        if partition.index.is_some() {
            // DynamoDB's global indexes take no other. What they return is checked against the
            // table, which is read strongly.
            query.consistency = Consistency::Eventual;
        }
        query.index = partition.index.clone();
        query.direction = direction;
        query.limit = Some(u32::try_from(limit).unwrap_or(u32::MAX));
        let page = rows.store.query(query).await?;
        cost.rows += page.scanned;
        cost.bytes += page.scanned_bytes;
        Ok(page)
    }
}
