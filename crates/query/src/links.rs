//! The references to an entity.

use keyloom_model::attribute::SORT;
use keyloom_model::{EntityKey, FieldId, RowKey, RowName, Unreadable};
use keyloom_store::Direction;
use keyloom_value::Item;

use crate::fetch::{RawKey, unreadable};
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

impl Reader<'_> {
    /// Returns the references to an entity, of visible entities or not; after the row `after`, if it is
    /// given. At most `limit`, and at least one if there is one. One read.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn links(
        &self,
        target: &EntityKey,
        after: Option<&RowKey>,
        limit: u32,
    ) -> Result<LinksPage, Error> {
        let partition = self.layout.entity_partition(target);
        let (from, to) = self.layout.references().range();
        let mut span = Span::new(Some(from.into_vec()), Some(to));
        if let Some(after) = after {
            span = span.after(after.sort.as_bytes(), Direction::Forward);
        }
        if partition.as_bytes().len() > RowKey::PARTITION_BYTES_MAX {
            span = Span::empty();
        }
        let partition = Partition::of_table(partition.as_bytes());
        let request = partition.first(&span, limit.max(1) as usize);
        let page = self.page(request, &mut ReadCost::default()).await?;
        let links = page.items.iter().map(|row| self.read_link(row));
        let links = links.collect::<Result<Vec<LinkRow>, Error>>()?;
        let next = page.last_key.and(links.last()).map(|link| link.key.clone());
        Ok(LinksPage { links, next })
    }

    fn read_link(&self, row: &Item) -> Result<LinkRow, Error> {
        let wrong = || unreadable(row, Unreadable { attribute: SORT });
        let raw = RawKey::of(row).ok_or_else(wrong)?;
        let Some(RowName::Link { target, field, owner }) =
            self.layout.row_name(&raw.partition, &raw.sort)
        else {
            return Err(wrong());
        };
        let link =
            self.layout.references().of(owner.entity).iter().find(|link| link.field == field);
        let link = link.ok_or_else(wrong)?;
        let key = self.layout.references().key(link, &target.id, &owner);
        Ok(LinkRow { key, owner, field })
    }
}
