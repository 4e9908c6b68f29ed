//! The store at one moment: rows and the catalog that explains them.

use std::sync::Arc;

use keyloom_value::Item;

use crate::{Error, Time};

use super::catalog::Catalog;
use super::format::{CommitNo, Malformed, NameCache, SpaceId, decode_item};
use super::malformed_row;
use super::tree::TreeView;

/// The store at one moment. Cheap to share; holding one keeps its moment's rows on disk.
pub(crate) struct View {
    pub(crate) tree: TreeView,
    pub(crate) catalog: Arc<Catalog>,
    /// The last commit that can be seen.
    pub(crate) applied: CommitNo,
    /// When it happened.
    pub(crate) applied_at: Time,
}

impl View {
    /// The item at a key of a space.
    pub(crate) fn item(&self, space: SpaceId, key: &[u8]) -> Result<Option<Item>, Error> {
        self.item_like(space, key, &mut NameCache::default())
    }

    /// The same for one of several items, which mostly have the same names.
    pub(crate) fn item_like(
        &self,
        space: SpaceId,
        key: &[u8],
        names: &mut NameCache,
    ) -> Result<Option<Item>, Error> {
        let Some(row) = self.tree.get(&space.row(key))? else { return Ok(None) };
        self.decode(row.value(), names).map(Some)
    }

    pub(crate) fn decode(&self, bytes: &[u8], names: &mut NameCache) -> Result<Item, Error> {
        decode_item(bytes, names).map_err(|why| self.malformed(why))
    }

    /// The error for a row that no writer wrote.
    pub(crate) fn malformed(&self, why: Malformed) -> Error {
        let error = malformed_row(self.tree.path(), why);
        self.tree.damages().note_malformed(&error);
        error
    }
}
