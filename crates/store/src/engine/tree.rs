//! The tree: redb, seen as one ordered map of rows.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};

use crate::{Damage, Error, Failure};

use super::damages::Damages;
use super::format::{LiveBytes, SystemKey};
use super::rows_mut::{RowsMut, row_bytes};
use super::tree_file::TreeFile;

const ROWS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");

/// A row's bytes, borrowed from the tree.
pub(crate) type RowGuard<'a> = redb::AccessGuard<'a, &'static [u8]>;

/// A row: its key and its value.
pub(crate) type Row<'a> = (RowGuard<'a>, RowGuard<'a>);

/// A range of row keys: from the first, included, to the second, not included.
pub(crate) type RowRange = (Vec<u8>, Vec<u8>);

/// The tree and the file below it. There is one writer at a time.
pub(crate) struct Tree {
    /// None only while it is being dropped: redb writes a last time then, which comes before the
    /// file goes.
    database: Option<Database>,
    file: TreeFile,
    /// What the rows take, as the last write left them.
    live_bytes: AtomicU64,
    /// Every view has one.
    viewed: Arc<()>,
}

/// The tree at one moment.
pub(crate) struct TreeView {
    rows: ReadOnlyTable<&'static [u8], &'static [u8]>,
    damages: Arc<Damages>,
    _viewing: Arc<()>,
}

/// Rows in the order of their keys.
pub(crate) struct Rows<'a> {
    range: redb::Range<'a, &'static [u8], &'static [u8]>,
    damages: &'a Damages,
}

impl Tree {
    /// Opens the tree in a file, or makes one if the file is empty.
    pub(crate) fn open(file: TreeFile, cache_bytes: usize) -> Result<Tree, Error> {
        let tree = Tree::open_database(file, cache_bytes)?;
        // Reading a table that was never made is an error; an empty one is not.
        tree.write(|_| Ok(()))?;
        tree.live_bytes.store(tree.count_live_bytes()?, Ordering::Relaxed);
        Ok(tree)
    }

    /// Opens a damaged tree to be read. From now on a page that cannot be read is one with a single row,
    /// which says so. What redb itself needs to open the file must be whole.
    pub(crate) fn open_to_salvage(file: TreeFile, cache_bytes: usize) -> Result<Tree, Error> {
        let tree = Tree::open_database(file, cache_bytes)?;
        tree.file.replace_lost_pages();
        Ok(tree)
    }

    fn open_database(file: TreeFile, cache_bytes: usize) -> Result<Tree, Error> {
        let damages = Arc::clone(file.damages());
        let database = damages.guard(|| {
            let mut builder = Database::builder();
            builder.set_cache_size(cache_bytes);
            let made = builder.create_with_backend(file.backend());
            made.map_err(|error| failed(damages.path(), error))
        })?;
        let (live_bytes, viewed) = (AtomicU64::new(0), Arc::new(()));
        Ok(Tree { database: Some(database), file, live_bytes, viewed })
    }

    /// What the rows take, as it was counted with every write. Trees that were written before that
    /// are counted once, unless they are only read.
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

    /// Whether anybody has a view of it.
    pub(crate) fn is_viewed(&self) -> bool {
        Arc::strong_count(&self.viewed) > 1
    }

    /// Bytes that the rows would take in a tree without gaps, about.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn file(&self) -> &TreeFile {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        self.damages().path()
    }

    fn damages(&self) -> &Damages {
        self.file.damages()
    }

    /// Changes rows, all or none. Not on disk before the next checkpoint.
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

    /// Starts bringing everything written so far to the disk. Returns the number of syncs of the
    /// file after which it is there.
    pub(crate) fn checkpoint(&self) -> Result<u64, Error> {
        self.transact(|transaction| {
            // Costs a little now and saves reading the whole tree after a crash.
            transaction.set_quick_repair(true);
            Ok(())
        })?;
        Ok(self.file.syncs_asked())
    }

    fn transact<T>(
        &self,
        change: impl FnOnce(&mut WriteTransaction) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.damages().guard(|| {
            let begun = self.database.as_ref().ok_or(Error::Closed)?.begin_write();
            let mut transaction = begun.map_err(|error| failed(self.path(), error))?;
            let outcome = change(&mut transaction)?;
            transaction.commit().map_err(|error| failed(self.path(), error))?;
            Ok(outcome)
        })
    }

    /// An error if the file cannot be written. Rows then stay in memory, which may be too little for
    /// many of them.
    pub(crate) fn check_written(&self) -> Result<(), Error> {
        self.file.failure().map_or(Ok(()), |failure| Err(Error::Io(failure)))
    }

    /// Brings everything to the disk and closes the file.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.checkpoint()?;
        self.drop_database()?;
        self.file.drain().map_err(Error::WritesRefused)
    }

    fn drop_database(&mut self) -> Result<(), Error> {
        let database = self.database.take();
        self.file.damages().guard(|| {
            drop(database);
            Ok(())
        })
    }

    pub(crate) fn view(&self) -> Result<TreeView, Error> {
        self.damages().guard(|| {
            let begun = self.database.as_ref().ok_or(Error::Closed)?.begin_read();
            let transaction = begun.map_err(|error| failed(self.path(), error))?;
            let rows = transaction.open_table(ROWS).map_err(|error| failed(self.path(), error))?;
            let damages = Arc::clone(self.file.damages());
            Ok(TreeView { rows, damages, _viewing: Arc::clone(&self.viewed) })
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
        self.damages.path()
    }

    pub(crate) fn damages(&self) -> &Damages {
        &self.damages
    }

    pub(crate) fn get(&self, row: &[u8]) -> Result<Option<RowGuard<'_>>, Error> {
        self.damages.guard(|| {
            ReadableTable::get(&self.rows, row).map_err(|error| failed(self.path(), error))
        })
    }

    pub(crate) fn range(&self, (from, to): &RowRange) -> Result<Rows<'_>, Error> {
        let (from, to) = (from.as_slice(), to.as_slice());
        // redb refuses an inverted range; for us it is one without rows.
        let to = to.max(from);
        let bounds = (Bound::Included(from), Bound::Excluded(to));
        self.damages.guard(|| {
            let range = ReadableTable::range::<&[u8]>(&self.rows, bounds);
            let range = range.map_err(|error| failed(self.path(), error))?;
            Ok(Rows { range, damages: &self.damages })
        })
    }
}

impl TreeView {
    /// All rows, those that stand for lost pages too.
    pub(crate) fn all(&self) -> Result<Rows<'_>, Error> {
        self.damages.guard(|| {
            let range = ReadableTable::range::<&[u8]>(&self.rows, ..);
            let range = range.map_err(|error| failed(self.path(), error))?;
            Ok(Rows { range, damages: &self.damages })
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
        let Rows { range, damages } = self;
        let row = damages
            .guard(|| step(range).transpose().map_err(|error| failed(damages.path(), error)));
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

/// The range of all rows.
pub(crate) fn everything() -> RowRange {
    (Vec::new(), vec![0xff; 5])
}

/// What an error of redb means.
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
            cause: std::io::Error::other("the file must be opened again"),
        })),
        error => Error::Damaged(Arc::new(Damage {
            file: path.to_owned(),
            offset: 0,
            what: format!("the tree cannot be read ({error}): restore from a backup"),
        })),
    }
}
