//! The rows as a write sees them. Tracks their size, so that the used part of the tree's file is
//! always known: redb can only compute it by reading the whole file.

use std::ops::Range;

use redb::{ReadableTable, StorageError};

/// A row's bytes, borrowed from the tree.
pub(crate) type RowGuard<'a> = redb::AccessGuard<'a, &'static [u8]>;

type Table<'txn> = redb::Table<'txn, &'static [u8], &'static [u8]>;

/// The page size of redb, and the bytes of a leaf that are not available to rows.
const PAGE: u64 = 4096;
const LEAF_HEADER: u64 = 4;
/// Bytes that a leaf needs for each row besides its key and value.
const ROW_OFFSETS: u64 = 8;

/// The rows as a write sees them.
pub(crate) struct RowsMut<'txn> {
    table: Table<'txn>,
    /// By how many bytes the rows have grown since the write began.
    grown: i64,
}

impl<'txn> RowsMut<'txn> {
    pub(crate) fn new(table: Table<'txn>) -> RowsMut<'txn> {
        RowsMut { table, grown: 0 }
    }

    /// Returns by how many bytes the rows have grown; negative if they have shrunk.
    pub(crate) fn grown(&self) -> i64 {
        self.grown
    }

    pub(crate) fn get(&self, row: &[u8]) -> Result<Option<RowGuard<'_>>, StorageError> {
        self.table.get(row)
    }

    pub(crate) fn range<'a>(
        &self,
        range: Range<&'a [u8]>,
    ) -> Result<redb::Range<'_, &'static [u8], &'static [u8]>, StorageError> {
        self.table.range::<&'a [u8]>(range)
    }

    /// Writes a row; returns its previous value.
    pub(crate) fn insert(
        &mut self,
        row: &[u8],
        value: &[u8],
    ) -> Result<Option<RowGuard<'_>>, StorageError> {
        let old = self.table.insert(row, value)?;
        let before = old.as_ref().map_or(0, |old| row_bytes(row, old.value()));
        self.grown += row_bytes(row, value) as i64 - before as i64;
        Ok(old)
    }

    /// Removes a row; returns its previous value.
    pub(crate) fn remove(&mut self, row: &[u8]) -> Result<Option<RowGuard<'_>>, StorageError> {
        let old = self.table.remove(row)?;
        self.grown -= old.as_ref().map_or(0, |old| row_bytes(row, old.value())) as i64;
        Ok(old)
    }

    /// Writes the row that holds the tracked size; it is not tracked itself.
    pub(crate) fn insert_count(&mut self, row: &[u8], value: &[u8]) -> Result<(), StorageError> {
        self.table.insert(row, value).map(drop)
    }
}

/// Estimates the size of a row in a tree whose pages are full: its share of a leaf, and a little of
/// the branches above it. A row larger than a page has pages of its own, a power of two of them.
pub(crate) fn row_bytes(row: &[u8], value: &[u8]) -> u64 {
    let pair = row.len() as u64 + value.len() as u64 + ROW_OFFSETS;
    let part = match (PAGE - LEAF_HEADER) / pair {
        0 => (pair + LEAF_HEADER).div_ceil(PAGE).next_power_of_two() * PAGE,
        rows => PAGE / rows,
    };
    part + pair.min(PAGE) / 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_rows_share_a_page_and_large_ones_have_their_own() {
        let takes = |value: usize| row_bytes(&[0; 12], &vec![0; value]);
        assert_eq!(takes(80), 4096 / 40 + 6);
        assert_eq!(takes(1500), 2048 + 95);
        assert_eq!(takes(3000), 4096 + 188);
        assert_eq!(takes(5000), 8192 + 256);
        assert_eq!(takes(9000), 16384 + 256);
    }
}
