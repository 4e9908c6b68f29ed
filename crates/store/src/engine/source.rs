//! The table or index that a query or scan reads, and what its rows mean.

use keyloom_value::{Item, KeyBytes};

use crate::segment::segment_of;
use crate::{Error, IndexProjection, IndexSpec, KeySchema};

use super::format::{
    BuildState, Malformed, NameCache, SpaceId, TableRecord, is_size_alone, item_size,
};
use super::view::View;

/// The table or index that is read.
pub(super) struct Source<'a> {
    pub(super) view: &'a View,
    pub(super) table: &'a TableRecord,
    pub(super) index: Option<&'a IndexSpec>,
    pub(super) space: SpaceId,
}

impl<'a> Source<'a> {
    pub(super) fn of(
        view: &'a View,
        table: &'a TableRecord,
        index: Option<usize>,
    ) -> Result<Self, Error> {
        let Some(index) = index.and_then(|index| table.spec.indexes.get(index)) else {
            return Ok(Source { view, table, index: None, space: table.space });
        };
        let rows = table.index_rows(&index.name).filter(|r| r.build == BuildState::Complete);
        match rows {
            Some(rows) => Ok(Source { view, table, index: Some(index), space: rows.space }),
            None => Err(Error::IndexBuilding {
                table: table.spec.name.clone(),
                index: index.name.clone(),
            }),
        }
    }

    fn schema(&self) -> &KeySchema {
        self.index.map_or(&self.table.spec.key, |index| &index.key)
    }

    /// Returns the row of an item with these key attributes.
    pub(super) fn row(&self, item: &Item) -> Result<Vec<u8>, Error> {
        let mut row = self.space.row(self.schema().encode(item)?.as_bytes());
        if self.index.is_some() {
            row.extend_from_slice(self.table.spec.key.encode(item)?.as_bytes());
        }
        Ok(row)
    }

    /// Returns the key attributes of a row.
    pub(super) fn key(&self, row: &[u8]) -> Result<Item, Error> {
        let malformed = || self.view.malformed(Malformed("a row has a malformed key"));
        let (_, key) = SpaceId::split(row).map_err(|_| malformed())?;
        let values = KeyBytes::decode(key).map_err(|_| malformed())?;
        let table_key = self.index.map(|_| self.table.spec.key.attributes()).into_iter().flatten();
        let attributes = self.schema().attributes().chain(table_key);
        Ok(attributes.map(|attribute| attribute.name.clone()).zip(values).collect())
    }

    /// Returns the part of the item that a row holds. In an index that projects only keys, that is
    /// the row's key.
    pub(super) fn projected(
        &self,
        row: &[u8],
        value: &[u8],
        names: &mut NameCache,
    ) -> Result<Item, Error> {
        let keeps_keys = |index: &IndexSpec| index.projection == IndexProjection::Keys;
        match self.index.is_some_and(keeps_keys) && is_size_alone(value) {
            true => self.key(row),
            false => self.view.decode(value, names),
        }
    }

    /// Returns the table's item for a row of the index, and its size.
    pub(super) fn table_item(
        &self,
        row: &[u8],
        names: &mut NameCache,
    ) -> Result<(Item, u64), Error> {
        let malformed = || self.view.malformed(Malformed("a row of an index has no item"));
        let (_, mut key) = SpaceId::split(row).map_err(|_| malformed())?;
        for _ in self.schema().attributes() {
            key = KeyBytes::skip_part(key).map_err(|_| malformed())?;
        }
        let row = self.view.tree.get(&self.table.space.row(key))?.ok_or_else(malformed)?;
        let bytes = item_size(row.value()).map_err(|why| self.view.malformed(why))?;
        Ok((self.view.decode(row.value(), names)?, bytes))
    }

    /// Returns the segment of a row.
    pub(super) fn segment(&self, row: &[u8], of: u32) -> Result<u32, Error> {
        let malformed = || self.view.malformed(Malformed("a row has a malformed key"));
        let (_, key) = SpaceId::split(row).map_err(|_| malformed())?;
        let mut rest = key;
        for _ in &self.schema().partition {
            rest = KeyBytes::skip_part(rest).map_err(|_| malformed())?;
        }
        Ok(segment_of(&key[..key.len() - rest.len()], of))
    }
}
