//! Point-in-time restore: a backup, rolled forward with logs up to a commit or a time.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{DirectoryError, Disk, Error, OpenMode, Time};

use super::backup::{CopyProgress, OnProgress, OpenBackup, copy_counted};
use super::directory::{Contents, DataDirectory, new_store_id};
use super::format::{Commit, CommitNo, History, Identity, Increment};
use super::increment::read_increment;
use super::log::{LogDirectory, LogWalk, Scanned};
use super::replay::{Replay, load};
use super::{check_continue, damaged};

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
