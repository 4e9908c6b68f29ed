//! Backups and point-in-time restore.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{DirectoryError, Disk, Error, OpenMode, Time};

use super::directory::{Contents, DataDirectory, new_store_id};
use super::format::{Commit, CommitNo, Effect, History, Identity, Increment, SystemKey};
use super::increment::read_increment;
use super::log::{LogDirectory, LogWalk, Scanned};
use super::open::{Replay, last_applied, load, open_tree};
use super::options::{Background, Options};
use super::tree::{Tree, TreeView, everything, failed};
use super::view::View;
use super::{check_continue, damaged};

/// Rows and bytes copied per tree transaction.
pub(crate) const COPY_ROWS: usize = 5000;
pub(crate) const COPY_BYTES: usize = 8 << 20;
/// Memory for reading a backup.
const READ_BYTES: usize = 64 << 20;

/// The point in time to restore to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The end of the log.
    Latest,
    /// After the last commit at or before this time.
    Time(Time),
    /// After the commit with this number.
    Commit(u64),
}

/// What to restore, and to where.
#[derive(Clone, Debug)]
pub struct Restore {
    /// The directory of a backup.
    pub backup: PathBuf,
    /// Continuations of the backup, in order: incremental backups, and the data directory that was
    /// backed up. Without any, the backup is restored as it is.
    pub logs: Vec<PathBuf>,
    /// The point in time to restore to.
    pub to: Moment,
    /// The directory to create. It must be empty or not exist.
    pub target: PathBuf,
}

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

/// Creates a store from a backup and logs.
pub(crate) fn restore(
    restore: &Restore,
    disk: Arc<dyn Disk>,
    now: Time,
    on_progress: OnProgress<'_>,
) -> Result<CopyProgress, Error> {
    let backup = OpenBackup::open(&disk, &restore.backup)?;
    let target = DataDirectory::new(Arc::clone(&disk), &restore.target);
    let (_lock, contents) = target.lock()?;
    backup.check_untouched()?;
    let mut progress = CopyProgress { rows: 0, commit: backup.commit.0, at: backup.at };
    // An id of its own: from here on, this store and the one backed up diverge.
    let store = new_store_id(&restore.target, now);
    let identity = Identity { store, history: History::Id(store) };
    target.create(contents, identity, |tree| {
        copy_counted(&backup.rows, tree, &mut progress, on_progress)?;
        let (mut catalog, applied, last_at) = load(tree)?;
        let replay = Replay { tree, catalog: &mut catalog, applied, last_at };
        let mut replayed = ReplayUntil::new(replay, restore.to);
        for log in &restore.logs {
            let log = DataDirectory::new(Arc::clone(&disk), log);
            let increment = read_increment(&log)?;
            if increment.is_none() && !matches!(log.contents()?, Contents::Store(_)) {
                return Err(DirectoryError::NoStore { directory: log.path }.into());
            }
            let log =
                LogDirectory::open(Arc::clone(&disk), log.log(), backup.store, OpenMode::Read)?;
            if let Some(increment) = increment {
                replayed.check_follows(increment, &log)?;
            }
            // There may be no changes between two incremental backups.
            if increment.is_none() || log.oldest().is_some() {
                replayed.continue_with(&log, &mut progress, on_progress)?;
            }
            if let Some(increment) = increment {
                replayed.check_reached(increment.last, &log)?;
            }
        }
        replayed.end()
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

/// Replays a log up to a point in time; returns the last replayed commit. Times before the backup's
/// own last commit cannot be reached.
pub(crate) fn replay_until(
    replay: Replay<'_>,
    log: &LogDirectory,
    to: Moment,
    progress: &mut CopyProgress,
    on_progress: OnProgress<'_>,
) -> Result<CommitNo, Error> {
    let mut replayed = ReplayUntil::new(replay, to);
    replayed.continue_with(log, progress, on_progress)?;
    replayed.end()
}

/// Replays one log after the other up to a point in time.
struct ReplayUntil<'a> {
    replay: Replay<'a>,
    to: Moment,
    /// The commit it started at.
    oldest: CommitNo,
    /// The last commit in the logs, for the error if the point is out of reach.
    latest: CommitNo,
    /// Whether a commit beyond the point was seen.
    is_passed: bool,
}

impl<'a> ReplayUntil<'a> {
    fn new(replay: Replay<'a>, to: Moment) -> ReplayUntil<'a> {
        let applied = replay.applied;
        ReplayUntil { replay, to, oldest: applied, latest: applied, is_passed: false }
    }

    fn continue_with(
        &mut self,
        log: &LogDirectory,
        progress: &mut CopyProgress,
        on_progress: OnProgress<'_>,
    ) -> Result<(), Error> {
        if self.is_passed {
            return Ok(());
        }
        let Some(mut walk) = LogWalk::from_commit(&log.segments(), self.latest.next())? else {
            return Err(Error::MomentGone { oldest: self.oldest.0, latest: self.latest.0 });
        };
        while let Some(frame) = next_frame(&mut walk)? {
            if self.is_passed {
                continue;
            }
            let mut commits = Vec::new();
            for (number, commit) in frame.commits()? {
                self.is_passed |= !self.to.includes(number, &commit);
                if number > self.replay.applied && !self.is_passed {
                    self.replay.last_at = commit.at;
                    commits.push(commit);
                }
            }
            self.replay.apply(&mut commits)?;
            self.replay.tree.check_written()?;
            let (commit, at) = (self.replay.applied.0, self.replay.last_at);
            *progress = CopyProgress { commit, at, ..*progress };
            check_continue(on_progress(*progress))?;
            if self.is_passed && is_reached(self.to, &self.replay) {
                return Ok(());
            }
        }
        self.latest = self.latest.max(CommitNo(walk.position().expected().0.saturating_sub(1)));
        Ok(())
    }

    /// Fails if an incremental backup belongs to another store, or begins too late.
    fn check_follows(&self, increment: Increment, log: &LogDirectory) -> Result<(), Error> {
        if increment.store != log.store {
            return Err(damaged(&log.path, 0, "the incremental backup belongs to another store"));
        }
        match self.is_passed || increment.after <= self.latest {
            true => Ok(()),
            false => Err(Error::MomentGone { oldest: self.oldest.0, latest: self.latest.0 }),
        }
    }

    /// Fails if a log ends before a commit that it once had.
    fn check_reached(&self, last: CommitNo, log: &LogDirectory) -> Result<(), Error> {
        match self.is_passed || self.latest >= last {
            true => Ok(()),
            false => {
                let what = format!("the incremental backup lacks commits up to {}", last.0);
                Err(damaged(&log.path, 0, &what))
            }
        }
    }

    fn end(self) -> Result<CommitNo, Error> {
        match is_reached(self.to, &self.replay) {
            true => Ok(self.replay.applied),
            false => Err(Error::MomentGone { oldest: self.oldest.0, latest: self.latest.0 }),
        }
    }
}

/// Returns the next frame of a log that may be growing: if its end looks damaged, a frame may just
/// have been completed.
fn next_frame(walk: &mut LogWalk) -> Result<Option<Scanned>, Error> {
    match walk.next()? {
        Some(frame) => Ok(Some(frame)),
        None => match walk.position().check_tail() {
            Ok(()) => Ok(None),
            Err(damage) => walk.next()?.map(Some).ok_or(damage),
        },
    }
}

impl Moment {
    fn includes(self, number: CommitNo, commit: &Commit) -> bool {
        match self {
            Moment::Latest => true,
            Moment::Time(time) => commit.at <= time,
            Moment::Commit(last) => number.0 <= last,
        }
    }
}

/// Whether the last replayed commit is the requested point.
fn is_reached(to: Moment, replay: &Replay<'_>) -> bool {
    match to {
        Moment::Latest => true,
        // All commits at or before this time were replayed, and none after it.
        Moment::Time(time) => replay.last_at <= time,
        Moment::Commit(commit) => replay.applied.0 == commit,
    }
}
