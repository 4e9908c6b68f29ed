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
    pub next: Option<RowKey>,
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

/// The references to an entity.
pub(crate) struct Links<'l> {
    pub(crate) reader: &'l Reader<'l>,
    pub(crate) target: &'l EntityKey,
}

impl Links<'_> {
    /// Returns at most `limit` of them after a row, and at least one if there is one.
    pub(crate) async fn page(
        &self,
        after: Option<&RowKey>,
        limit: u32,
    ) -> Result<LinksPage, Error> {
        let (limit, mut links) = (limit.max(1) as usize, vec![]);
        let partitions = self.reader.layout.references().partitions(self.target);
        let first =
            after.and_then(|after| partitions.iter().position(|key| *key == after.partition));
        let mut left = partitions.iter().skip(first.unwrap_or(0)).peekable();
        while let Some(partition) = left.next() {
            let after = after.filter(|after| after.partition == *partition);
            let page = self.shard_page(partition, after, limit - links.len()).await?;
            links.extend(page.links);
            if page.next.is_some() {
                return Ok(LinksPage { links, next: page.next });
            }
            if links.len() >= limit && left.peek().is_some() {
                let next = links.last().map(|link| link.key.clone());
                return Ok(LinksPage { links, next });
            }
        }
        Ok(LinksPage { links, next: None })
    }

    /// Returns some of them in one partition.
    async fn shard_page(
        &self,
        partition: &KeyBytes,
        after: Option<&RowKey>,
        limit: usize,
    ) -> Result<LinksPage, Error> {
        let (from, to) = self.reader.layout.references().range();
        let mut span = Span::ALL.starting_at(Some(from.into_vec())).ending_at(Some(to));
        if let Some(after) = after {
            span = span.after(after.sort.as_bytes(), Direction::Forward);
        }
        if partition.as_bytes().len() > RowKey::PARTITION_BYTES_MAX {
            span = Span::EMPTY;
        }
        let partition = Partition::of_table(partition.as_bytes());
        let request = partition.first(&span, limit);
        let page = request.read(self.reader.rows(), &mut ReadCost::default()).await?;
        let links = page.items.iter().map(|row| self.read_link(row));
        let links = links.collect::<Result<Vec<LinkRow>, Error>>()?;
        let next = page.last_key.and(links.last()).map(|link| link.key.clone());
        Ok(LinksPage { links, next })
    }

    fn read_link(&self, row: &Item) -> Result<LinkRow, Error> {
        let wrong = || unreadable(row, Unreadable { attribute: SORT });
        let raw = RawKey::of(row).ok_or_else(wrong)?;
        let Some(RowName::Link { field, owner, .. }) =
            self.reader.layout.row_name(&raw.partition, &raw.sort)
        else {
            return Err(wrong());
        };
        let key = Layout::row_key(&raw.partition, &raw.sort).ok_or_else(wrong)?;
        Ok(LinkRow { key, owner, field })
    }
}
