//! Applying column changes to the tree: those of a whole commit batch together, so that each block
//! is written once.

use std::collections::BTreeMap;
use std::path::Path;

use keyloom_value::Item;

use crate::column::cell_of;
use crate::{ColumnSpec, ColumnValue, Error};

use super::format::{BlockMut, ColumnRows, SpaceId, block_of};
use super::malformed_row;
use super::rows_mut::RowsMut;
use super::tree::failed;

/// Pending changes of each block: the new values of its ordinals, in the order they were made.
#[derive(Debug, Default)]
pub(crate) struct ColumnChanges(BTreeMap<Vec<u8>, Vec<(u8, Option<ColumnValue>)>>);

impl ColumnChanges {
    /// Adds the change of an item.
    pub(crate) fn add(
        &mut self,
        (space, spec): (SpaceId, &ColumnSpec),
        old: Option<&Item>,
        new: Option<&Item>,
    ) {
        let old = old.and_then(|item| cell_of(spec, item));
        let new = new.and_then(|item| cell_of(spec, item));
        if old == new {
            return;
        }
        let changes =
            [old.map(|(of, cell)| (of, cell, false)), new.map(|(of, cell)| (of, cell, true))];
        for (partition, cell, is_there) in changes.into_iter().flatten() {
            let (block, low) = block_of(cell.ordinal);
            let row = ColumnRows::block(&ColumnRows(space).partition(partition), block);
            self.0.entry(row).or_default().push((low, is_there.then_some(cell.value)));
        }
    }

    /// Applies all of them to the tree; returns how many rows were written.
    pub(crate) fn flush(self, rows: &mut RowsMut<'_>, path: &Path) -> Result<u64, Error> {
        let mut written = 0;
        for (row, changes) in self.0 {
            let found = rows.get(row.as_slice()).map_err(|error| failed(path, error))?;
            let before = found.map(|found| BlockMut::decode(found.value())).transpose();
            let before = before.map_err(|why| malformed_row(path, why))?.unwrap_or_default();
            let mut after = before.clone();
            for (low, value) in changes {
                match value {
                    Some(value) => after.0.insert(low, value),
                    None => after.0.remove(&low),
                };
            }
            if after == before {
                continue;
            }
            let done = match after.encode() {
                Some(block) => rows.insert(row.as_slice(), block.as_slice()),
                None => rows.remove(row.as_slice()),
            };
            done.map(drop).map_err(|error| failed(path, error))?;
            written += 1;
        }
        Ok(written)
    }
}
