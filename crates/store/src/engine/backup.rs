//! Backups, and going back to a moment.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{DirectoryError, Disk, Error, OpenMode, Time};

use super::directory::{Contents, DataDirectory, new_store};
use super::format::{Commit, CommitNo, Effect, History, Identity, Increment, SystemKey};
use super::increment::read_increment;
use super::log::{LogDirectory, LogWalk, Scanned};
use super::open::{Replay, last_applied, load, open_tree};
use super::options::{Background, Options};
use super::tree::{Tree, TreeView, everything, failed};
use super::view::View;
use super::{damaged, go_on};

/// Rows and bytes copied with one commit.
pub(crate) const COPY_ROWS: usize = 5000;
pub(crate) const COPY_BYTES: usize = 8 << 20;
/// Memory for reading a backup.
const READ_BYTES: usize = 64 << 20;

/// A moment to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// As late as the log reaches.
    Latest,
    /// After the last commit that happened at this time or before.
    Time(Time),
    /// After the commit with this number.
    Commit(u64),
}

/// What to restore, and where to.
#[derive(Clone, Debug)]
pub struct Restore {
    /// A directory that a backup was made to.
    pub backup: PathBuf,
    /// What goes on where the backup ends, in this order: incremental backups, and the data directory
    /// that the backup is of. Without any, the backup is restored as it is.
    pub logs: Vec<PathBuf>,
    /// Which moment.
    pub to: Moment,
    /// The directory to make. It must be empty or not exist.
    pub target: PathBuf,
}

/// How far a backup or restore has come, or what it has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyProgress {
    /// Rows copied.
    pub rows: u64,
    /// The last commit that the copy includes.
    pub commit: u64,
    /// When that commit happened.
    pub at: Time,
}

/// Is told how far a copy has come, every few thousand rows, and says whether it goes on.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(CopyProgress) -> ControlFlow<()>;

/// Copies a moment of a store into an empty directory, which can be opened like any other.
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

/// Makes a store out of a backup and a log.
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
    // A number of its own: from here on this store and the one backed up differ.
    let store = new_store(&restore.target, now);
    let identity = Identity { store, history: History::Number(store) };
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
            // Nothing may have happened between two incremental backups.
            if increment.is_none() || log.oldest().is_some() {
                replayed.go_on_with(&log, &mut progress, on_progress)?;
            }
            if let Some(increment) = increment {
                replayed.check_reached(increment.last, &log)?;
            }
        }
        replayed.end()
    })?;
    Ok(progress)
}

/// A backup that is being read. Nothing is ever written to it.
pub(crate) struct OpenBackup {
    pub(crate) directory: DataDirectory,
    pub(crate) store: u64,
    pub(crate) rows: TreeView,
    /// The last commit that it includes, and when that happened.
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
        let (tree, _) = open_tree(&directory, store, &to_read(disk))?;
        let rows = tree.view()?;
        let (commit, at) = last_applied(&rows)?;
        Ok(OpenBackup { directory, store, rows, commit, at, tree, _lock: lock })
    }

    /// An error if the backup was opened and written to: it has commits of its own since, with the
    /// numbers of other commits in the log that it would be brought forward with.
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

    /// Whether its rows are what a commit made them that is its last one, or may be.
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

/// How the tree of a backup is opened: nothing is ever written to its file.
fn to_read(disk: &Arc<dyn Disk>) -> Options {
    let (disk, background) = (Arc::clone(disk), Background::Manual);
    Options { read_only: true, memory_bytes: READ_BYTES, background, disk, ..Options::default() }
}

/// Copies all rows of a moment into a tree.
pub(crate) fn copy_counted(
    from: &TreeView,
    to: &Tree,
    progress: &mut CopyProgress,
    on_progress: OnProgress<'_>,
) -> Result<(), Error> {
    copy_rows(from, to, COPY_BYTES, &mut |rows| {
        progress.rows = rows;
        go_on(on_progress(*progress))
    })
}

/// Copies all rows into an empty tree. Calls `between` with the number of rows so far, after every few
/// thousand of them or so many bytes; an error ends it.
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
                // The copy counts for itself.
                if row.value() != live_bytes {
                    let inserted = target.insert(row.value(), value.value());
                    inserted.map_err(|error| failed(to.path(), error))?;
                }
            }
            Ok(())
        })?;
        // What cannot be written stays in memory; there is no point in more of it.
        to.check_written()?;
        copied += count as u64;
        between(copied)?;
    }
    Ok(())
}

/// Replays a log up to a moment; returns the last commit replayed. A time before the backup's own
/// last commit is not to be had.
pub(crate) fn replay_until(
    replay: Replay<'_>,
    log: &LogDirectory,
    to: Moment,
    progress: &mut CopyProgress,
    on_progress: OnProgress<'_>,
) -> Result<CommitNo, Error> {
    let mut replayed = ReplayUntil::new(replay, to);
    replayed.go_on_with(log, progress, on_progress)?;
    replayed.end()
}

/// Replays one log after the other up to a moment.
struct ReplayUntil<'a> {
    replay: Replay<'a>,
    to: Moment,
    /// Where it began.
    oldest: CommitNo,
    /// How far the logs reach, for the one who must choose another moment.
    latest: CommitNo,
    /// Whether a commit was seen that comes after the moment.
    is_passed: bool,
}

impl<'a> ReplayUntil<'a> {
    fn new(replay: Replay<'a>, to: Moment) -> ReplayUntil<'a> {
        let applied = replay.applied;
        ReplayUntil { replay, to, oldest: applied, latest: applied, is_passed: false }
    }

    fn go_on_with(
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
            go_on(on_progress(*progress))?;
            if self.is_passed && is_reached(self.to, &self.replay) {
                return Ok(());
            }
        }
        self.latest = self.latest.max(CommitNo(walk.position().expected().0.saturating_sub(1)));
        Ok(())
    }

    /// An error if an incremental backup is of another store, or begins later.
    fn check_follows(&self, increment: Increment, log: &LogDirectory) -> Result<(), Error> {
        if increment.store != log.store {
            return Err(damaged(&log.path, 0, "the incremental backup is of another store"));
        }
        match self.is_passed || increment.after <= self.latest {
            true => Ok(()),
            false => Err(Error::MomentGone { oldest: self.oldest.0, latest: self.latest.0 }),
        }
    }

    /// An error if a log does not reach a commit that it has had.
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

/// The next frame of a log that may be being written: where it seems damaged at its end, a frame
/// may only just have become whole.
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

/// Whether the last commit replayed is the moment asked for.
fn is_reached(to: Moment, replay: &Replay<'_>) -> bool {
    match to {
        Moment::Latest => true,
        // Commits at this time or before are all there, and none after it.
        Moment::Time(time) => replay.last_at <= time,
        Moment::Commit(commit) => replay.applied.0 == commit,
    }
}
