//! Backups, and going back to a moment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{DirectoryError, Disk, Error, OpenMode, Time};

use super::directory::{Contents, DataDirectory, new_store};
use super::format::{Commit, CommitNo, SystemKey};
use super::log::{LogDirectory, LogWalk, Scanned};
use super::open::{Replay, last_applied, load, open_tree};
use super::options::{Background, Options};
use super::tree::{Tree, TreeView, everything, failed};
use super::view::View;

/// Rows and bytes copied with one commit.
const COPY_ROWS: usize = 5000;
const COPY_BYTES: usize = 8 << 20;
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
    /// A data directory whose log goes on where the backup ends: usually the one that the backup
    /// is of. None restores the backup as it is.
    pub log: Option<PathBuf>,
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

/// Is told how far a copy has come, every few thousand rows.
pub type OnProgress<'a> = &'a mut dyn FnMut(CopyProgress);

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
    target.create(contents, store, |tree| {
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
    let backup = DataDirectory::new(Arc::clone(&disk), &restore.backup);
    let Contents::Store(store) = backup.contents()? else {
        return Err(DirectoryError::NoStore { directory: restore.backup.clone() }.into());
    };
    let (_backup_lock, _) = backup.lock()?;
    let (source, _) = open_tree(&backup, store, &to_read(&disk))?;
    let target = DataDirectory::new(Arc::clone(&disk), &restore.target);
    let (_lock, contents) = target.lock()?;
    let rows = source.view()?;
    let (commit, at) = last_applied(&rows)?;
    check_untouched(&backup, store, commit)?;
    let mut progress = CopyProgress { rows: 0, commit: commit.0, at };
    // A number of its own: from here on this store and the one backed up differ.
    target.create(contents, new_store(&restore.target, now), |tree| {
        copy_counted(&rows, tree, &mut progress, on_progress)?;
        let (mut catalog, applied, last_at) = load(tree)?;
        let replay = Replay { tree, catalog: &mut catalog, applied, last_at };
        let Some(log) = &restore.log else {
            let gone = Error::MomentGone { oldest: applied.0, latest: applied.0 };
            return if is_reached(restore.to, &replay) { Ok(applied) } else { Err(gone) };
        };
        let log = DataDirectory::new(Arc::clone(&disk), log).log();
        let log = LogDirectory::open(Arc::clone(&disk), log, store, OpenMode::Read)?;
        replay_until(replay, &log, restore.to, &mut progress, on_progress)
    })?;
    Ok(progress)
}

/// An error if the backup was opened and written to: it has commits of its own since, with the
/// numbers of other commits in the log that it would be brought forward with.
fn check_untouched(backup: &DataDirectory, store: u64, commit: CommitNo) -> Result<(), Error> {
    let log = LogDirectory::open(Arc::clone(&backup.disk), backup.log(), store, OpenMode::Read)?;
    let is_next = log.oldest() == Some(commit.next());
    if let Some(mut walk) = LogWalk::from_commit(&log.segments(), commit.next())?
        && is_next
        && walk.next()?.is_none()
    {
        return Ok(());
    }
    Err(Error::Unsupported { what: "restoring a backup that was written to since it was made" })
}

/// How the tree of a backup is opened: nothing is ever written to its file.
fn to_read(disk: &Arc<dyn Disk>) -> Options {
    let (disk, background) = (Arc::clone(disk), Background::Manual);
    Options { read_only: true, memory_bytes: READ_BYTES, background, disk, ..Options::default() }
}

fn copy_counted(
    from: &TreeView,
    to: &Tree,
    progress: &mut CopyProgress,
    on_progress: OnProgress<'_>,
) -> Result<(), Error> {
    copy_rows(from, to, COPY_BYTES, &mut |rows| {
        progress.rows = rows;
        on_progress(*progress);
        Ok(())
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
        if let Some(failure) = to.file().failure() {
            return Err(Error::Io(failure));
        }
        copied += count as u64;
        between(copied)?;
    }
    Ok(())
}

/// Replays a log up to a moment; returns the last commit replayed. A time before the backup's own
/// last commit is not to be had.
fn replay_until(
    mut replay: Replay<'_>,
    log: &LogDirectory,
    to: Moment,
    progress: &mut CopyProgress,
    on_progress: OnProgress<'_>,
) -> Result<CommitNo, Error> {
    let backed_up = replay.applied;
    let Some(mut walk) = LogWalk::from_commit(&log.segments(), backed_up.next())? else {
        return Err(Error::MomentGone { oldest: backed_up.0, latest: backed_up.0 });
    };
    let mut passed = false;
    while !passed && let Some(frame) = next_frame(&mut walk)? {
        let mut commits = Vec::new();
        for (number, commit) in frame.commits()? {
            passed |= !to.includes(number, &commit);
            if number > replay.applied && !passed {
                replay.last_at = commit.at;
                commits.push(commit);
            }
        }
        replay.apply(&mut commits)?;
        *progress = CopyProgress { commit: replay.applied.0, at: replay.last_at, ..*progress };
        on_progress(*progress);
    }
    if is_reached(to, &replay) {
        return Ok(replay.applied);
    }
    // How far the log reaches, for the one who must choose another moment.
    while next_frame(&mut walk)?.is_some() {}
    let latest = walk.position().expected().0.saturating_sub(1).max(backed_up.0);
    Err(Error::MomentGone { oldest: backed_up.0, latest })
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
