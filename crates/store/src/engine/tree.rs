//! The tree: redb as one ordered map of rows.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};

use crate::{Damage, Error, Failure};

use super::format::{LiveBytes, SystemKey};
use super::rows_mut::{RowGuard, RowsMut, row_bytes};
use super::tree_damage::TreeDamage;
use super::tree_file::TreeFile;

const ROWS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");

/// A row: its key and its value.
pub(crate) type Row<'a> = (RowGuard<'a>, RowGuard<'a>);

/// A range of row keys: the start is inclusive, the end exclusive.
pub(crate) type RowRange = (Vec<u8>, Vec<u8>);

/// The tree and the file below it. There is one writer at a time.
pub(crate) struct Tree {
    /// `None` only while it is being dropped: redb then writes a last time, before the file is
    /// closed.
    database: Option<Database>,
    file: TreeFile,
    /// Size of the rows after the last write.
    live_bytes: AtomicU64,
    /// Shared with every view, to count them.
    viewed: Arc<()>,
}

/// A snapshot of the tree.
pub(crate) struct TreeView {
    rows: ReadOnlyTable<&'static [u8], &'static [u8]>,
    damage: Arc<TreeDamage>,
    _viewing: Arc<()>,
}

/// Rows in the order of their keys.
pub(crate) struct Rows<'a> {
    range: redb::Range<'a, &'static [u8], &'static [u8]>,
    damage: &'a TreeDamage,
}

impl Tree {
    /// Opens the tree in a file, or creates one if the file is empty.
    pub(crate) fn open(file: TreeFile, cache_bytes: usize) -> Result<Tree, Error> {
        let tree = Tree::open_database(file, cache_bytes)?;
        // redb fails to open a table for reading that was never created.
        tree.write(|_| Ok(()))?;
        tree.live_bytes.store(tree.count_live_bytes()?, Ordering::Relaxed);
        Ok(tree)
    }

    /// Opens a damaged tree for reading. From then on, an unreadable page appears as one with a
    /// single marker row. What redb itself needs to open the file must be intact.
    pub(crate) fn open_to_salvage(file: TreeFile, cache_bytes: usize) -> Result<Tree, Error> {
        let tree = Tree::open_database(file, cache_bytes)?;
        tree.file.replace_lost_pages();
        Ok(tree)
    }

    fn open_database(file: TreeFile, cache_bytes: usize) -> Result<Tree, Error> {
        let damage = Arc::clone(file.damage());
        let database = damage.guard(|| {
            let mut builder = Database::builder();
            builder.set_cache_size(cache_bytes);
            let made = builder.create_with_backend(file.backend());
            made.map_err(|error| failed(damage.path(), error))
        })?;
        let (live_bytes, viewed) = (AtomicU64::new(0), Arc::new(()));
        Ok(Tree { database: Some(database), file, live_bytes, viewed })
    }

    /// Returns the size of the rows, which is recorded with every write. For trees without that
    /// record it is computed once, unless they are read-only.
    fn count_live_bytes(&self) -> Result<u64, Error> {
        let view = self.view()?;
        if let Some(row) = view.get(&SystemKey::LiveBytes.row())?
            && let Ok(LiveBytes(counted)) = LiveBytes::decode(row.value())
        {
            return Ok(counted);
        }
        if self.file.failure().is_some() {
            return Ok(self.file.bytes());
        }
        let mut counted = 0;
        for entry in view.range(&everything())? {
            let (row, value) = entry?;
            counted += row_bytes(row.value(), value.value());
        }
        Ok(counted)
    }

    /// Whether there are views of it.
    pub(crate) fn is_viewed(&self) -> bool {
        Arc::strong_count(&self.viewed) > 1
    }

    /// Returns the approximate size of the rows in a tree without free space.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn file(&self) -> &TreeFile {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        self.damage().path()
    }

    fn damage(&self) -> &TreeDamage {
        self.file.damage()
    }

    /// Changes rows atomically. Not on disk before the next checkpoint.
    pub(crate) fn write<T>(
        &self,
        change: impl FnOnce(&mut RowsMut<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (outcome, live_bytes) = self.transact(|transaction| {
            let set = transaction.set_durability(Durability::None);
            set.map_err(|error| failed(self.path(), error))?;
            let rows = transaction.open_table(ROWS).map_err(|e| failed(self.path(), e))?;
            let mut rows = RowsMut::new(rows);
            let outcome = change(&mut rows)?;
            let live_bytes = self.live_bytes().saturating_add_signed(rows.grown());
            if rows.grown() != 0 {
                let row = SystemKey::LiveBytes.row();
                let noted = rows.insert_count(&row, &LiveBytes(live_bytes).encode());
                noted.map_err(|error| failed(self.path(), error))?;
            }
            Ok((outcome, live_bytes))
        })?;
        self.live_bytes.store(live_bytes, Ordering::Relaxed);
        Ok(outcome)
    }

    /// Starts writing everything so far to disk. Returns the number of syncs of the file after
    /// which it is there.
    pub(crate) fn checkpoint(&self) -> Result<u64, Error> {
        self.transact(|transaction| {
            // Costs a little now and saves reading the whole tree after a crash.
            transaction.set_quick_repair(true);
            Ok(())
        })?;
        Ok(self.file.syncs_requested())
    }

    fn transact<T>(
        &self,
        change: impl FnOnce(&mut WriteTransaction) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.damage().guard(|| {
            let begun = self.database.as_ref().ok_or(Error::Closed)?.begin_write();
            let mut transaction = begun.map_err(|error| failed(self.path(), error))?;
            let outcome = change(&mut transaction)?;
            transaction.commit().map_err(|error| failed(self.path(), error))?;
            Ok(outcome)
        })
    }

    /// Fails if the file cannot be written. Rows then stay in memory, which may be too small for
    /// many of them.
    pub(crate) fn check_written(&self) -> Result<(), Error> {
        self.file.failure().map_or(Ok(()), |failure| Err(Error::Io(failure)))
    }

    /// Writes everything to disk and closes the file.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.checkpoint()?;
        self.drop_database()?;
        self.file.drain().map_err(Error::WritesRefused)
    }

    fn drop_database(&mut self) -> Result<(), Error> {
        let database = self.database.take();
        self.file.damage().guard(|| {
            drop(database);
            Ok(())
        })
    }

    pub(crate) fn view(&self) -> Result<TreeView, Error> {
        self.damage().guard(|| {
            let begun = self.database.as_ref().ok_or(Error::Closed)?.begin_read();
            let transaction = begun.map_err(|error| failed(self.path(), error))?;
            let rows = transaction.open_table(ROWS).map_err(|error| failed(self.path(), error))?;
            let damage = Arc::clone(self.file.damage());
            Ok(TreeView { rows, damage, _viewing: Arc::clone(&self.viewed) })
        })
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // What redb could not write now, the log has.
        let _ = self.drop_database();
    }
}

impl TreeView {
    pub(crate) fn path(&self) -> &Path {
        self.damage.path()
    }

    pub(crate) fn damage(&self) -> &TreeDamage {
        &self.damage
    }

    pub(crate) fn get(&self, row: &[u8]) -> Result<Option<RowGuard<'_>>, Error> {
        self.damage.guard(|| {
            ReadableTable::get(&self.rows, row).map_err(|error| failed(self.path(), error))
        })
    }

    pub(crate) fn range(&self, (from, to): &RowRange) -> Result<Rows<'_>, Error> {
        let (from, to) = (from.as_slice(), to.as_slice());
        // redb refuses an inverted range; here it is an empty one.
        let to = to.max(from);
        let bounds = (Bound::Included(from), Bound::Excluded(to));
        self.damage.guard(|| {
            let range = ReadableTable::range::<&[u8]>(&self.rows, bounds);
            let range = range.map_err(|error| failed(self.path(), error))?;
            Ok(Rows { range, damage: &self.damage })
        })
    }
}

impl TreeView {
    /// Returns all rows, including the markers of lost pages.
    pub(crate) fn all(&self) -> Result<Rows<'_>, Error> {
        self.damage.guard(|| {
            let range = ReadableTable::range::<&[u8]>(&self.rows, ..);
            let range = range.map_err(|error| failed(self.path(), error))?;
            Ok(Rows { range, damage: &self.damage })
        })
    }
}

impl<'a> Rows<'a> {
    fn step(
        &mut self,
        step: impl FnOnce(
            &mut redb::Range<'a, &'static [u8], &'static [u8]>,
        ) -> Option<Result<Row<'a>, redb::StorageError>>,
    ) -> Option<Result<Row<'a>, Error>> {
        let Rows { range, damage } = self;
        let row =
            damage.guard(|| step(range).transpose().map_err(|error| failed(damage.path(), error)));
        row.transpose()
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = Result<Row<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(Iterator::next)
    }
}

impl DoubleEndedIterator for Rows<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(DoubleEndedIterator::next_back)
    }
}

/// Returns the range of all rows.
pub(crate) fn everything() -> RowRange {
    (Vec::new(), vec![0xff; 5])
}

/// Converts an error of redb.
pub(crate) fn failed(path: &Path, error: impl Into<redb::Error>) -> Error {
    match error.into() {
        redb::Error::Io(cause) => Error::Io(Arc::new(Failure {
            doing: "reading or writing the tree",
            path: path.to_owned(),
            cause,
        })),
        redb::Error::DatabaseClosed => Error::Closed,
        redb::Error::PreviousIo => Error::Io(Arc::new(Failure {
            doing: "reading the tree after an earlier read failed",
            path: path.to_owned(),
            cause: std::io::Error::other("the file must be reopened"),
        })),
        error => Error::Damaged(Arc::new(Damage {
            file: path.to_owned(),
            offset: 0,
            what: format!("the tree cannot be read ({error}): restore from a backup"),
        })),
    }
}
