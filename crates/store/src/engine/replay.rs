//! Replaying the log: applies the commits that a tree lacks, and finds the end of the log.

use std::sync::Arc;

use crate::{Error, Time};

use super::apply::Apply;
use super::catalog::Catalog;
use super::damaged;
use super::format::{Applied, Commit, CommitNo, Malformed, NextId, SystemKey, TableRecord};
use super::log::{FrameScan, LogDirectory, LogWalk, Scanned, Segment};
use super::options::{CHECKPOINT_LOG_BYTES, Options};
use super::tree::{Tree, TreeView};

/// Commits applied in one tree transaction while replaying.
const REPLAY_COMMITS: usize = 1000;

/// Returns the catalog in the tree, the last commit in the tree, and when it happened.
pub(crate) fn load(tree: &Tree) -> Result<(Arc<Catalog>, CommitNo, Time), Error> {
    let view = tree.view()?;
    let malformed = |why: Malformed| damaged(tree.path(), 0, why.0);
    let (applied, at) = last_applied(&view)?;
    let next_id = match view.get(&SystemKey::NextId.row())? {
        Some(row) => NextId::decode(row.value()).map_err(malformed)?.0,
        None => 1,
    };
    let mut records = Vec::new();
    for entry in view.range(&SystemKey::tables())? {
        let (_, value) = entry?;
        records.push(TableRecord::decode(value.value()).map_err(malformed)?);
    }
    Ok((Arc::new(Catalog::new(next_id, records)), applied, at))
}

/// Returns the last commit in a tree, and when it happened.
pub(crate) fn last_applied(view: &TreeView) -> Result<(CommitNo, Time), Error> {
    let row = view.get(&SystemKey::Applied.row())?;
    let applied = row.map(|row| Applied::decode(row.value())).transpose();
    let applied = applied.map_err(|why| damaged(view.path(), 0, why.0))?;
    let Applied { commit, at } = applied.unwrap_or(Applied::NOTHING);
    Ok((commit, at))
}

/// Applies the commits of a log to a tree.
pub(crate) struct Replay<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) catalog: &'a mut Arc<Catalog>,
    pub(crate) applied: CommitNo,
    pub(crate) last_at: Time,
}

/// The end of a log.
pub(crate) struct LogEnd {
    pub(crate) segment: Arc<Segment>,
    pub(crate) offset: u64,
    pub(crate) applied: CommitNo,
    pub(crate) last_at: Time,
    pub(super) replayed: Replayed,
}

/// The amount that was replayed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Replayed {
    rows: u64,
    log_bytes: u64,
}

impl Replayed {
    /// Whether it is as much as is written between two checkpoints.
    pub(super) fn is_long(self, options: &Options) -> bool {
        self.rows >= options.checkpoint_rows() || self.log_bytes >= CHECKPOINT_LOG_BYTES
    }
}

impl Replay<'_> {
    /// Replays everything after `in_tree` and finds the end of the log. Calls `on_applied` every
    /// thousand commits with the last one and its time.
    pub(crate) fn run(
        mut self,
        log: &LogDirectory,
        in_tree: CommitNo,
        on_applied: &mut dyn FnMut(CommitNo, Time) -> Result<(), Error>,
    ) -> Result<LogEnd, Error> {
        let Some(mut walk) = LogWalk::from_commit(&log.segments(), in_tree.next())? else {
            let what =
                format!("commit {} is missing from the log: restore from a backup", in_tree.0 + 1);
            return Err(damaged(&log.path, 0, &what));
        };
        let mut pending: Vec<Commit> = Vec::new();
        let mut replayed = Replayed::default();
        while let Some(frame) = walk.next()? {
            replayed.log_bytes += frame.payload.len() as u64;
            self.collect(&frame, &mut pending)?;
            if pending.len() >= REPLAY_COMMITS {
                replayed.rows += self.apply(&mut pending)?;
                on_applied(self.applied, self.last_at)?;
            }
        }
        replayed.rows += self.apply(&mut pending)?;
        let end = walk.position();
        end.check_tail()?;
        if end.expected() <= in_tree {
            return Err(end.hole());
        }
        log.check_end(self.applied)?;
        Ok(LogEnd {
            segment: Arc::clone(end.segment()),
            offset: end.offset(),
            applied: self.applied,
            last_at: self.last_at,
            replayed,
        })
    }

    /// Replays everything after the last applied commit up to `last`, which is in the log. The log
    /// may be growing beyond it.
    pub(crate) fn run_until(&mut self, log: &LogDirectory, last: CommitNo) -> Result<(), Error> {
        let first = self.applied.next();
        if last < first {
            return Ok(());
        }
        let Some(mut walk) = LogWalk::from_commit(&log.segments(), first)? else {
            let what = format!("commit {} is missing from the log", first.0);
            return Err(damaged(&log.path, 0, &what));
        };
        let mut pending: Vec<Commit> = Vec::new();
        while walk.position().expected() <= last {
            let Some(frame) = walk.next()? else { return Err(walk.position().hole()) };
            self.collect(&frame, &mut pending)?;
            if pending.len() >= REPLAY_COMMITS {
                self.apply(&mut pending)?;
            }
        }
        self.apply(&mut pending).map(drop)
    }

    /// Adds a frame's commits to the pending ones, except those that the tree has.
    fn collect(&mut self, frame: &Scanned, pending: &mut Vec<Commit>) -> Result<(), Error> {
        let mut last_at = Time(0);
        for (number, commit) in frame.commits()? {
            last_at = commit.at;
            if number.0 == self.applied.0 + pending.len() as u64 + 1 {
                pending.push(commit);
            }
        }
        frame.segment.note_frame(frame.header.first, frame.offset, last_at);
        self.last_at = self.last_at.max(last_at);
        Ok(())
    }

    /// Applies commits that follow the last applied one. Returns how many rows were written.
    pub(crate) fn apply(&mut self, commits: &mut Vec<Commit>) -> Result<u64, Error> {
        if commits.is_empty() {
            return Ok(0);
        }
        let last = CommitNo(self.applied.0 + commits.len() as u64);
        let (catalog, last_at) = (&mut *self.catalog, self.last_at);
        let rows = self.tree.write(|rows| {
            let mut apply = Apply::new(rows, catalog, self.tree.path());
            for commit in commits.iter() {
                apply.commit(commit, &[])?;
            }
            apply.finish(last, last_at)
        })?;
        self.applied = last;
        commits.clear();
        Ok(rows)
    }
}

/// Sets the age of segments that were not read: as old as what follows them.
pub(crate) fn set_segment_ages(log: &LogDirectory, now: Time) -> Result<(), Error> {
    for pair in log.segments().windows(2) {
        let [segment, next] = pair else { continue };
        if segment.last_at() == Time(0) {
            let frame = FrameScan::new(next)?.next()?;
            let mut commits = frame.map(|frame| frame.commits()).transpose()?.into_iter().flatten();
            let at = commits.next().map_or(now, |(_, commit)| commit.at);
            segment.note_age(at);
        }
    }
    Ok(())
}
