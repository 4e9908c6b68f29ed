//! The tree: redb, seen as one ordered map of rows.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use crate::{Damage, Error, Failure};

use super::tree_file::TreeFile;

const ROWS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");

/// A row's bytes, borrowed from the tree.
pub(crate) type RowGuard<'a> = redb::AccessGuard<'a, &'static [u8]>;

/// The rows as a write sees them.
pub(crate) type RowsMut<'txn> = redb::Table<'txn, &'static [u8], &'static [u8]>;

/// A range of row keys: from the first, included, to the second, not included.
pub(crate) type RowRange = (Vec<u8>, Vec<u8>);

/// The tree and the file below it. There is one writer at a time.
pub(crate) struct Tree {
    // The order matters: redb writes a last time when it is dropped.
    database: Database,
    file: TreeFile,
    path: PathBuf,
}

/// The tree at one moment.
pub(crate) struct TreeView {
    rows: ReadOnlyTable<&'static [u8], &'static [u8]>,
    path: PathBuf,
}

impl Tree {
    /// Opens the tree in a file, or makes one if the file is empty.
    pub(crate) fn open(file: TreeFile, path: &Path, cache_bytes: usize) -> Result<Tree, Error> {
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes);
        let database =
            builder.create_with_backend(file.backend()).map_err(|error| failed(path, error))?;
        let tree = Tree { database, file, path: path.to_owned() };
        // Reading a table that was never made is an error; an empty one is not.
        tree.write(|_| Ok(()))?;
        Ok(tree)
    }

    pub(crate) fn file(&self) -> &TreeFile {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Changes rows, all or none. Not on disk before the next checkpoint.
    pub(crate) fn write<T>(
        &self,
        change: impl FnOnce(&mut RowsMut<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut transaction = self.database.begin_write().map_err(|e| failed(&self.path, e))?;
        let set = transaction.set_durability(Durability::None);
        set.map_err(|error| failed(&self.path, error))?;
        let outcome = {
            let mut rows = transaction.open_table(ROWS).map_err(|e| failed(&self.path, e))?;
            change(&mut rows)?
        };
        transaction.commit().map_err(|error| failed(&self.path, error))?;
        Ok(outcome)
    }

    /// Starts bringing everything written so far to the disk. Returns the number of syncs of the
    /// file after which it is there.
    pub(crate) fn checkpoint(&self) -> Result<u64, Error> {
        let mut transaction = self.database.begin_write().map_err(|e| failed(&self.path, e))?;
        // Costs a little now and saves reading the whole tree after a crash.
        transaction.set_quick_repair(true);
        transaction.commit().map_err(|error| failed(&self.path, error))?;
        Ok(self.file.syncs_asked())
    }

    /// Brings everything to the disk and closes the file.
    pub(crate) fn close(self) -> Result<(), Error> {
        self.checkpoint()?;
        let Tree { database, file, path: _ } = self;
        drop(database);
        file.drain().map_err(Error::WritesRefused)
    }

    pub(crate) fn view(&self) -> Result<TreeView, Error> {
        let transaction = self.database.begin_read().map_err(|e| failed(&self.path, e))?;
        let rows = transaction.open_table(ROWS).map_err(|error| failed(&self.path, error))?;
        Ok(TreeView { rows, path: self.path.clone() })
    }
}

impl TreeView {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn get(&self, row: &[u8]) -> Result<Option<RowGuard<'_>>, Error> {
        ReadableTable::get(&self.rows, row).map_err(|error| failed(&self.path, error))
    }

    pub(crate) fn range(
        &self,
        (from, to): &RowRange,
    ) -> Result<redb::Range<'_, &'static [u8], &'static [u8]>, Error> {
        let (from, to) = (from.as_slice(), to.as_slice());
        // redb refuses an inverted range; for us it is one without rows.
        let to = to.max(from);
        let bounds = (Bound::Included(from), Bound::Excluded(to));
        ReadableTable::range::<&[u8]>(&self.rows, bounds).map_err(|error| failed(&self.path, error))
    }

    /// What an error of redb means for a reader of this view.
    pub(crate) fn failed(&self, error: redb::StorageError) -> Error {
        failed(&self.path, error)
    }
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
