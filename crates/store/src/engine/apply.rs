//! Applying commits to the tree: the same code for new commits and for replayed ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use keyloom_value::Item;

use crate::{Error, Time};

use super::catalog::Catalog;
use super::column_apply::ColumnChanges;
use super::derive::{DerivedRow, derived_row};
use super::format::{
    Applied, BuildState, Commit, CommitNo, Derived, DerivedKind, Effect, Malformed, NameCache,
    NextId, RowEffect, SpaceId, Stats, SystemKey, TableId, TableRecord, TokenRecord, decode_item,
    item_size,
};
use super::rows_mut::RowsMut;
use super::set_apply::SetChanges;
use super::tree::failed;
use super::{damaged, malformed_row};

/// An item before and after a write, if the writer has read them.
#[derive(Clone, Debug)]
pub(crate) struct Images {
    pub(crate) old: Option<Arc<Item>>,
    pub(crate) new: Option<Arc<Item>>,
}

/// An item's key and the item, both encoded.
type EncodedItem = (Vec<u8>, Vec<u8>);

/// Applies commits to the tree, one after the other.
pub(crate) struct Apply<'a, 'txn> {
    rows: &'a mut RowsMut<'txn>,
    catalog: &'a mut Arc<Catalog>,
    path: &'a Path,
    stats: BTreeMap<SpaceId, (i64, i64)>,
    sets: SetChanges,
    columns: ColumnChanges,
    rows_written: u64,
}

impl<'a, 'txn> Apply<'a, 'txn> {
    pub(crate) fn new(
        rows: &'a mut RowsMut<'txn>,
        catalog: &'a mut Arc<Catalog>,
        path: &'a Path,
    ) -> Apply<'a, 'txn> {
        let (sets, columns) = (SetChanges::default(), ColumnChanges::default());
        let stats = BTreeMap::new();
        Apply { rows, catalog, path, stats, sets, columns, rows_written: 0 }
    }

    /// Applies a commit. `images` has an entry for each row effect, or is empty if none are known.
    pub(crate) fn commit(
        &mut self,
        commit: &Commit,
        images: &[Option<Images>],
    ) -> Result<(), Error> {
        debug_assert!(images.len() <= commit.effects.len(), "images belong to effects");
        for (index, effect) in commit.effects.iter().enumerate() {
            match effect {
                Effect::Row(row) => self.row(row, images.get(index).and_then(Option::as_ref))?,
                Effect::SetTable(record) => self.set_table(record)?,
                Effect::DropTable(id) => self.drop_table(*id)?,
                Effect::Fill { table, space, items, bytes } => {
                    self.fill(*table, *space, (*items, *bytes))?;
                }
                Effect::Set(change) => {
                    let table = self.table(change.table)?;
                    let rows = table.set_rows().ok_or_else(|| self.unknown(change.table))?;
                    self.sets.add(rows.0, change);
                }
                Effect::Token { token, fingerprint, expires } => {
                    let record = TokenRecord { fingerprint: *fingerprint, expires: *expires };
                    self.insert(&SystemKey::Token(token.clone()).row(), &record.encode())?;
                    let expiry = SystemKey::TokenExpiry(expires.0, token.clone());
                    self.insert(&expiry.row(), &[])?;
                }
            }
        }
        Ok(())
    }

    /// Records how far the tree has come. Nothing may be applied after this. Returns how many rows
    /// were written.
    pub(crate) fn finish(mut self, applied: CommitNo, at: Time) -> Result<u64, Error> {
        self.rows_written += std::mem::take(&mut self.sets).flush(self.rows, self.path)?;
        self.rows_written += std::mem::take(&mut self.columns).flush(self.rows, self.path)?;
        for (space, (items, bytes)) in std::mem::take(&mut self.stats) {
            let row = SystemKey::Stats(space).row();
            let old = self.rows.get(row.as_slice()).map_err(|error| failed(self.path, error))?;
            let old = old.map(|old| Stats::decode(old.value())).transpose();
            let old = old.map_err(|why| self.malformed(why))?.unwrap_or_default();
            let new = Stats {
                items: old.items.saturating_add_signed(items),
                bytes: old.bytes.saturating_add_signed(bytes),
            };
            self.insert(&row, &new.encode())?;
        }
        debug_assert!(self.was_applied()? <= applied, "the tree goes back");
        let applied = Applied { commit: applied, at };
        self.insert(&SystemKey::Applied.row(), &applied.encode())?;
        Ok(self.rows_written)
    }

    /// Returns the last commit in the tree before this write.
    fn was_applied(&self) -> Result<CommitNo, Error> {
        let row = self.rows.get(SystemKey::Applied.row().as_slice());
        let row = row.map_err(|error| failed(self.path, error))?;
        let applied = row.map(|row| Applied::decode(row.value())).transpose();
        let applied = applied.map_err(|why| self.malformed(why))?;
        Ok(applied.unwrap_or(Applied::NOTHING).commit)
    }

    fn row(&mut self, effect: &RowEffect, images: Option<&Images>) -> Result<(), Error> {
        let table = self.table(effect.table)?;
        let row = table.space.row(&effect.key);
        if !table.has_derived_rows() {
            return self.replace(table.space, &row, effect.new.as_deref());
        }
        let read;
        let images = match images {
            Some(images) => images,
            None => {
                read = self.images(&row, effect.new.as_deref())?;
                &read
            }
        };
        let encoded = effect.new.as_deref().unwrap_or_default();
        for derived in &table.derived {
            if let DerivedKind::Column(column) = &derived.kind {
                let (old, new) = (images.old.as_deref(), images.new.as_deref());
                self.columns.add((derived.space, column), old, new);
                continue;
            }
            let key = &effect.key;
            let derive = |item: &Option<Arc<Item>>, encoded| match item {
                Some(item) => derived_row(&table, derived, item, key, encoded),
                None => Ok(None),
            };
            let old = derive(&images.old, &[])?;
            let new = derive(&images.new, encoded)?;
            self.replace_derived(derived, old, new)?;
        }
        self.replace(table.space, &row, effect.new.as_deref())
    }

    /// Reads the images of a row: the stored item, and the one that replaces it.
    fn images(&self, row: &[u8], new: Option<&[u8]>) -> Result<Images, Error> {
        let decode = |bytes: &[u8]| {
            let item = decode_item(bytes, &mut NameCache::default());
            item.map(Arc::new).map_err(|why| self.malformed(why))
        };
        let old = self.rows.get(row).map_err(|error| failed(self.path, error))?;
        let old = old.map(|old| decode(old.value())).transpose()?;
        Ok(Images { old, new: new.map(decode).transpose()? })
    }

    fn replace_derived(
        &mut self,
        derived: &Derived,
        old: Option<DerivedRow<'_>>,
        new: Option<DerivedRow<'_>>,
    ) -> Result<(), Error> {
        if let Some(old) = &old
            && new.as_ref().is_none_or(|new| new.row != old.row)
        {
            self.replace_in(derived, &old.row, None)?;
        }
        match &new {
            Some(new) => self.replace_in(derived, &new.row, Some(&new.value)),
            None => Ok(()),
        }
    }

    fn replace_in(
        &mut self,
        derived: &Derived,
        row: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        match (&derived.kind, value) {
            (DerivedKind::Index(_), value) => self.replace(derived.space, row, value),
            (DerivedKind::Expiry, Some(value)) => self.insert(row, value),
            (DerivedKind::Expiry, None) => self.remove(row),
            // Set rows do not derive from items, and a column row derives from many.
            (DerivedKind::Sets | DerivedKind::Column(_), _) => Ok(()),
        }
    }

    /// Writes or removes a row that holds an item, and updates the statistics of its space.
    fn replace(&mut self, space: SpaceId, row: &[u8], new: Option<&[u8]>) -> Result<(), Error> {
        let old = match new {
            Some(new) => self.rows.insert(row, new),
            None => self.rows.remove(row),
        };
        let old = old.map_err(|error| failed(self.path, error))?;
        let old_size = old.map(|old| item_size(old.value())).transpose();
        let old_size = old_size.map_err(|why| malformed_row(self.path, why))?;
        let new_size = new.map(item_size).transpose().map_err(|why| self.malformed(why))?;
        let count = |size: Option<u64>| (i64::from(size.is_some()), size.unwrap_or(0) as i64);
        let ((old_items, old_bytes), (new_items, new_bytes)) = (count(old_size), count(new_size));
        self.rows_written += 1;
        let change = self.stats.entry(space).or_default();
        change.0 += new_items - old_items;
        change.1 += new_bytes - old_bytes;
        Ok(())
    }

    fn set_table(&mut self, record: &TableRecord) -> Result<(), Error> {
        if let Some(old) = self.catalog.by_id(record.id).cloned() {
            let kept = |space| record.derived.iter().any(|derived| derived.space == space);
            for derived in old.derived.iter().filter(|derived| !kept(derived.space)) {
                self.insert(&SystemKey::Dead(derived.space).row(), &[])?;
            }
        }
        Arc::make_mut(self.catalog).set(record.clone());
        self.insert(&SystemKey::Table(record.id.0).row(), &record.encode())?;
        let next = NextId(self.catalog.next_id());
        self.insert(&SystemKey::NextId.row(), &next.encode())
    }

    fn drop_table(&mut self, id: TableId) -> Result<(), Error> {
        let Some(record) = Arc::make_mut(self.catalog).remove(id) else {
            return Err(self.unknown(id));
        };
        for space in record.derived.iter().map(|derived| derived.space).chain([record.space]) {
            self.insert(&SystemKey::Dead(space).row(), &[])?;
        }
        self.remove(&SystemKey::Table(id.0).row())
    }

    /// Runs one step of building derived rows: reads the table's next items and writes their rows
    /// in one space.
    fn fill(&mut self, id: TableId, space: SpaceId, limits: (u32, u32)) -> Result<(), Error> {
        let table = self.table(id)?;
        let mut record = (*table).clone();
        let Some(derived) = record.derived.iter_mut().find(|derived| derived.space == space) else {
            return Err(self.unknown(id));
        };
        let BuildState::Building { after, done } = &derived.build else { return Ok(()) };
        let next = self.items_after(table.space, after.as_deref(), limits)?;
        for (key, encoded) in &next {
            let item = decode_item(encoded, &mut NameCache::default());
            let item = item.map_err(|why| self.malformed(why))?;
            if let DerivedKind::Column(column) = &derived.kind {
                self.columns.add((derived.space, column), None, Some(&item));
                continue;
            }
            let new = derived_row(&table, derived, &item, key, encoded)?;
            self.replace_derived(derived, None, new)?;
        }
        derived.build = match next.last() {
            Some((key, _)) => {
                BuildState::Building { after: Some(key.clone()), done: done + next.len() as u64 }
            }
            None => BuildState::Complete,
        };
        self.set_table(&record)
    }

    /// Returns keys and encoded items of a space after a key.
    fn items_after(
        &self,
        space: SpaceId,
        after: Option<&[u8]>,
        (items_max, bytes_max): (u32, u32),
    ) -> Result<Vec<EncodedItem>, Error> {
        let mut from = space.row(after.unwrap_or_default());
        if after.is_some() {
            from.push(0);
        }
        let end = space.end();
        let range = self.rows.range(from.as_slice()..end.as_slice());
        let mut found = Vec::new();
        let mut bytes = 0;
        for entry in range.map_err(|error| failed(self.path, error))? {
            let (row, value) = entry.map_err(|error| failed(self.path, error))?;
            let (_, key) = SpaceId::split(row.value()).map_err(|why| self.malformed(why))?;
            bytes += value.value().len();
            found.push((key.to_vec(), value.value().to_vec()));
            if found.len() >= items_max as usize || bytes >= bytes_max as usize {
                break;
            }
        }
        Ok(found)
    }

    fn table(&self, id: TableId) -> Result<Arc<TableRecord>, Error> {
        self.catalog.by_id(id).cloned().ok_or_else(|| self.unknown(id))
    }

    fn insert(&mut self, row: &[u8], value: &[u8]) -> Result<(), Error> {
        self.rows.insert(row, value).map(drop).map_err(|error| failed(self.path, error))
    }

    fn remove(&mut self, row: &[u8]) -> Result<(), Error> {
        self.rows.remove(row).map(drop).map_err(|error| failed(self.path, error))
    }

    fn malformed(&self, why: Malformed) -> Error {
        malformed_row(self.path, why)
    }

    fn unknown(&self, id: TableId) -> Error {
        let what = format!("a commit in the log names table {}, which the tree lacks", id.0);
        damaged(self.path, 0, &what)
    }
}
