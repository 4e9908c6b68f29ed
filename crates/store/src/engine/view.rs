//! A snapshot of the store: rows and the catalog that describes them.

use std::sync::Arc;

use keyloom_value::Item;

use crate::{Error, Time};

use super::catalog::Catalog;
use super::format::{CommitNo, Malformed, NameCache, SpaceId, decode_item};
use super::malformed_row;
use super::tree::TreeView;

/// A snapshot of the store. Cheap to share; while one is held, its rows stay on disk.
pub(crate) struct View {
    pub(crate) tree: TreeView,
    pub(crate) catalog: Arc<Catalog>,
    /// The last visible commit.
    pub(crate) applied: CommitNo,
    /// When it happened.
    pub(crate) applied_at: Time,
}

impl View {
    /// Returns the item at a key of a space.
    pub(crate) fn item(&self, space: SpaceId, key: &[u8]) -> Result<Option<Item>, Error> {
        self.item_with_names(space, key, &mut NameCache::default())
    }

    /// Like [`View::item`], for one of several items, which mostly share their attribute names.
    pub(crate) fn item_with_names(
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

    /// Returns the error for a row that no writer can have written, and records it.
    pub(crate) fn malformed(&self, why: Malformed) -> Error {
        let error = malformed_row(self.tree.path(), why);
        self.tree.damage().note_malformed(&error);
        error
    }
}
