//! Backups: copying a snapshot of a store, and reading such a copy.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::{DirectoryError, Disk, Error, OpenMode, Time};

use super::check_continue;
use super::directory::{Contents, DataDirectory};
use super::format::{Commit, CommitNo, Effect, History, Identity, SystemKey};
use super::log::{LogDirectory, LogWalk};
use super::open::open_tree;
use super::options::{Background, Options};
use super::replay::{last_applied, load};
use super::tree::{Tree, TreeView, everything, failed};
use super::view::View;

/// Rows and bytes copied per tree transaction.
pub(crate) const COPY_ROWS: usize = 5000;
pub(crate) const COPY_BYTES: usize = 8 << 20;
/// Memory for reading a backup.
const READ_BYTES: usize = 64 << 20;

/// The progress of a backup or restore, or its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyProgress {
    /// Rows copied.
    pub rows: u64,
    /// The last commit in the copy.
    pub commit: u64,
    /// When that commit happened.
    pub at: Time,
}

/// Receives the progress of a copy every few thousand rows, and decides whether it continues.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(CopyProgress) -> ControlFlow<()>;

/// Copies a snapshot of a store into an empty directory, which can be opened like any other.
pub(crate) fn backup(
    view: &View,
    disk: Arc<dyn Disk>,
    store: u64,
    target: &Path,
    on_progress: OnProgress<'_>,
) -> Result<CopyProgress, Error> {
    let target = DataDirectory::new(disk, target);
    let (_lock, contents) = target.lock()?;
    let mut progress = CopyProgress { rows: 0, commit: view.applied.0, at: view.applied_at };
    let identity = Identity { store, history: History::Ended };
    target.create(contents, identity, |tree| {
        copy_counted(&view.tree, tree, &mut progress, on_progress)?;
        Ok(view.applied)
    })?;
    Ok(progress)
}

/// A backup that is being read. It is never written to.
pub(crate) struct OpenBackup {
    pub(crate) directory: DataDirectory,
    pub(crate) store: u64,
    pub(crate) rows: TreeView,
    /// The last commit in it, and when that happened.
    pub(crate) commit: CommitNo,
    pub(crate) at: Time,
    tree: Tree,
    _lock: Box<dyn Send + Sync>,
}

impl OpenBackup {
    pub(crate) fn open(disk: &Arc<dyn Disk>, path: &Path) -> Result<OpenBackup, Error> {
        let directory = DataDirectory::new(Arc::clone(disk), path);
        let Contents::Store(store) = directory.contents()? else {
            return Err(DirectoryError::NoStore { directory: path.to_owned() }.into());
        };
        let (lock, _) = directory.lock()?;
        let (tree, _) = open_tree(&directory, store, &read_only_options(disk))?;
        let rows = tree.view()?;
        let (commit, at) = last_applied(&rows)?;
        Ok(OpenBackup { directory, store, rows, commit, at, tree, _lock: lock })
    }

    /// Fails if the backup was opened and written to: it then has commits of its own, whose numbers
    /// collide with those in the log that it would be rolled forward with.
    pub(crate) fn check_untouched(&self) -> Result<(), Error> {
        let (disk, path) = (Arc::clone(&self.directory.disk), self.directory.log());
        let log = LogDirectory::open(disk, path, self.store, OpenMode::Read)?;
        let next = self.commit.next();
        if let Some(mut walk) = LogWalk::from_commit(&log.segments(), next)?
            && log.oldest() == Some(next)
            && walk.next()?.is_none()
        {
            return Ok(());
        }
        Err(Error::Unsupported { what: "restoring a backup that was written to since it was made" })
    }

    /// Whether its rows match a commit that is, or may be, its last one.
    pub(crate) fn has_last(&self, commit: &Commit) -> Result<bool, Error> {
        let (catalog, _, _) = load(&self.tree)?;
        let mut rows = BTreeMap::new();
        for effect in &commit.effects {
            if let Effect::Row(row) = effect
                && let Some(table) = catalog.by_id(row.table)
            {
                rows.insert(table.space.row(&row.key), row.new.as_deref());
            }
        }
        for (row, expected) in rows {
            let found = self.rows.get(&row)?;
            if found.as_ref().map(|found| found.value()) != expected {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the options for opening a backup's tree: its file is never written to.
fn read_only_options(disk: &Arc<dyn Disk>) -> Options {
    let (disk, background) = (Arc::clone(disk), Background::Manual);
    Options { read_only: true, memory_bytes: READ_BYTES, background, disk, ..Options::default() }
}

/// Copies all rows of a snapshot into a tree, and reports progress.
pub(crate) fn copy_counted(
    from: &TreeView,
    to: &Tree,
    progress: &mut CopyProgress,
    on_progress: OnProgress<'_>,
) -> Result<(), Error> {
    copy_rows(from, to, COPY_BYTES, &mut |rows| {
        progress.rows = rows;
        check_continue(on_progress(*progress))
    })
}

/// Copies all rows into an empty tree. Calls `between` with the number of rows so far, every few
/// thousand rows or `bytes_max` bytes; an error ends the copy.
pub(crate) fn copy_rows(
    from: &TreeView,
    to: &Tree,
    bytes_max: usize,
    between: &mut dyn FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let live_bytes = SystemKey::LiveBytes.row();
    let mut rows = from.range(&everything())?.peekable();
    let mut copied = 0;
    while rows.peek().is_some() {
        let (mut count, mut bytes) = (0, 0);
        to.write(|target| {
            while count < COPY_ROWS
                && bytes < bytes_max
                && let Some(entry) = rows.next()
            {
                let (row, value) = entry?;
                count += 1;
                bytes += value.value().len();
                // The copy tracks its own size.
                if row.value() != live_bytes {
                    let inserted = target.insert(row.value(), value.value());
                    inserted.map_err(|error| failed(to.path(), error))?;
                }
            }
            Ok(())
        })?;
        // What cannot be written stays in memory; do not add more to it.
        to.check_written()?;
        copied += count as u64;
        between(copied)?;
    }
    Ok(())
}
