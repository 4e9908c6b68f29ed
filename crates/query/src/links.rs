//! The references to an entity.

use keyloom_model::attribute::SORT;
use keyloom_model::{EntityKey, FieldId, Layout, RowKey, RowName, Unreadable};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes};

use crate::error::unreadable;
use crate::fetch::RawKey;
use crate::partition::Partition;
use crate::span::Span;
use crate::{Error, ReadCost, Reader};

/// A page of what refers to an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinksPage {
    /// In the order of their keys: children first, then references.
    pub links: Vec<LinkRow>,
    /// After which the next page begins; absent if nothing follows for sure.
    pub next: Option<LinksPosition>,
}

/// A position among the references to an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinksPosition {
    /// Which of the partitions that are read.
    partition: usize,
    /// The last sort key in it.
    sort: KeyBytes,
}

/// The row that stands with an entity for one that refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// Where it is.
    pub key: RowKey,
    /// The one that refers.
    pub owner: EntityKey,
    /// With this field of its.
    pub field: FieldId,
}

/// Links in one partition.
struct ShardPage {
    links: Vec<LinkRow>,
    /// The sort key of the last row that was read, if more may follow.
    last: Option<KeyBytes>,
}

/// The references to an entity.
pub(crate) struct Links<'l> {
    pub(crate) reader: &'l Reader<'l>,
    pub(crate) target: &'l EntityKey,
}

impl Links<'_> {
    /// Returns at most `limit` of them after a row. There may be more although it returns none.
    pub(crate) async fn page(
        &self,
        after: Option<&LinksPosition>,
        limit: u32,
    ) -> Result<LinksPage, Error> {
        let (limit, mut links) = (limit.max(1) as usize, vec![]);
        let references = self.reader.layout.references();
        // A link can move to its new partition meanwhile; it can then be on two pages.
        let mut partitions = references.earlier_partitions(self.target);
        partitions.extend(references.partitions(self.target));
        let first = after.map_or(0, |after| after.partition);
        for (at, partition) in partitions.iter().enumerate().skip(first) {
            let after = after.filter(|after| after.partition == at).map(|after| &after.sort);
            let page = self.shard_page(partition, after, limit - links.len()).await?;
            let has_more = page.last.is_some();
            let last = page.links.last().map(|link| link.key.sort.clone());
            let last = page.last.or(last).or_else(|| after.cloned()).unwrap_or_default();
            links.extend(page.links);
            let is_full = links.len() >= limit && at + 1 < partitions.len();
            if has_more || is_full {
                let next = Some(LinksPosition { partition: at, sort: last });
                return Ok(LinksPage { links, next });
            }
        }
        Ok(LinksPage { links, next: None })
    }

    /// Returns some of them in one partition.
    async fn shard_page(
        &self,
        partition: &KeyBytes,
        after: Option<&KeyBytes>,
        limit: usize,
    ) -> Result<ShardPage, Error> {
        let (from, to) = self.reader.layout.references().range();
        let mut span = Span::ALL.starting_at(Some(from.into_vec())).ending_at(Some(to));
        if let Some(after) = after {
            span = span.after(after.as_bytes(), Direction::Forward);
        }
        if partition.as_bytes().len() > RowKey::PARTITION_BYTES_MAX {
            span = Span::EMPTY;
        }
        let partition = Partition::of_table(partition.as_bytes());
        let request = partition.first(&span, limit);
        let page = request.read(self.reader.rows(), &mut ReadCost::default()).await?;
        let links = page.items.iter().filter_map(|row| self.read_link(row).transpose());
        let links = links.collect::<Result<Vec<LinkRow>, Error>>()?;
        let last = page.items.last().filter(|_| page.last_key.is_some());
        let last = last.map(raw_key).transpose()?;
        let last = last.and_then(|raw| Layout::row_key(&raw.partition, &raw.sort));
        Ok(ShardPage { links, last: last.map(|key| key.sort) })
    }

    /// Reads a link; none if it is of a field that the model no longer has.
    fn read_link(&self, row: &Item) -> Result<Option<LinkRow>, Error> {
        let raw = raw_key(row)?;
        let layout = self.reader.layout;
        let Some(RowName::Link { field, owner, .. }) = layout.row_name(&raw.partition, &raw.sort)
        else {
            return match layout.references().is_retired(&raw.sort) {
                true => Ok(None),
                false => Err(wrong(row)),
            };
        };
        let key = Layout::row_key(&raw.partition, &raw.sort).ok_or_else(|| wrong(row))?;
        Ok(Some(LinkRow { key, owner, field }))
    }
}

fn raw_key(row: &Item) -> Result<RawKey, Error> {
    RawKey::of(row).ok_or_else(|| wrong(row))
}

fn wrong(row: &Item) -> Error {
    unreadable(row, Unreadable { attribute: SORT })
}
