//! Compaction: the rows of the tree are copied into a new file without gaps, which then takes the
//! place of the old one.
//!
//! redb gives back only what is free at the end of its file, and after much was deleted there is
//! nearly always something in use there. So a moment of the tree is copied row by row, while readers
//! and writers go on; what was written meanwhile is replayed from the log; and the committer puts the
//! new file in the place of the old one between two groups. Until then nothing but the new file is
//! written, under a name that the next opening removes.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{Error, OpenMode, Time};

use super::backup::copy_rows;
use super::catalog::Catalog;
use super::chores::Stop;
use super::files::Files;
use super::format::CommitNo;
use super::log::Segment;
use super::open::{Replay, load, tree_file};
use super::options::Background;
use super::queue::{Task, Work};
use super::reply;
use super::shared::Shared;
use super::tree::Tree;
use super::tree_file::{FlushBy, TreeFile};
use super::view::View;
use super::{go_on, io_error};

/// Memory for the new file while rows are copied: redb's, and what waits to be written.
const CACHE_BYTES: usize = 16 << 20;
const UNWRITTEN_BYTES: usize = 4 << 20;
/// Bytes copied before writers are let have the disk.
const COPY_BYTES: usize = 1 << 20;
/// Commits that the committer may have to replay: a few milliseconds.
const BEHIND_COMMITS_MAX: u64 = 200;
/// How often it is tried to come that close. Replaying is faster than writing, so each time less is
/// left.
const CATCH_UPS_MAX: usize = 20;
/// How long after a failure none starts by itself: at first, and at most.
const PAUSE_MILLIS_MIN: u64 = 60_000;
const PAUSE_MILLIS_MAX: u64 = 3_600_000;
/// Replaced trees that readers may still hold when one starts by itself.
const RETIRED_MAX: usize = 4;

/// How far a compaction has come, or what it has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Bytes that the tree's file took on the disk before.
    pub before_bytes: u64,
    /// Bytes that its rows take without gaps, about. The disk must have as many free, and some more.
    pub needed_bytes: u64,
    /// How many of these are copied.
    pub copied_bytes: u64,
    /// Rows copied.
    pub rows: u64,
    /// Bytes that it takes now.
    pub after_bytes: u64,
}

/// Is told how far a compaction has come, and says whether it goes on.
pub(crate) type OnCompaction<'a> = &'a mut dyn FnMut(Compaction) -> ControlFlow<()>;

/// What is known of compactions while a store is open.
#[derive(Debug, Default)]
pub(crate) struct Compactions {
    /// Held by the one that runs.
    running: Mutex<()>,
    pause: Mutex<Pause>,
    done: AtomicU64,
    failed: AtomicU64,
}

/// When the next one may start by itself.
#[derive(Debug)]
struct Pause {
    until: Time,
    millis: u64,
}

impl Default for Pause {
    fn default() -> Pause {
        Pause { until: Time(0), millis: PAUSE_MILLIS_MIN }
    }
}

impl Compactions {
    /// How many were finished, and how many failed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    fn may_start(&self, now: Time) -> bool {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner).until <= now
    }

    /// One that returned little is like one that failed: the next would do no better.
    fn note(&self, outcome: &Result<Compaction, Error>, now: Time) {
        let counter = if outcome.is_ok() { &self.done } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        *pause = match outcome {
            Ok(done) if done.after_bytes <= done.before_bytes / 4 * 3 => Pause::default(),
            Ok(_) | Err(_) => Pause {
                until: Time(now.0.saturating_add(pause.millis)),
                millis: (2 * pause.millis).min(PAUSE_MILLIS_MAX),
            },
        };
    }
}

/// Whether so much of the tree's file is unused that a compaction should start by itself. Any tree
/// that is written to grows to one and a half times its rows, because pages fill unevenly, and two
/// checkpoints, whose old pages are kept until the next: a copy would not stay smaller.
pub(crate) fn is_due(shared: &Shared) -> bool {
    let files = shared.files();
    let (bytes, live) = (files.tree.file().bytes(), files.tree.live_bytes());
    let usual = live / 2 * 3 + 2 * shared.options.checkpoint_bytes() as u64;
    bytes >= usual.saturating_add(shared.options.compact_from_bytes)
        && bytes / 2 >= live
        && shared.compactions.may_start(shared.options.clock.now())
        && shared.retired_trees() < RETIRED_MAX
        && shared.check().is_ok()
}

/// Compacts the tree. If it fails, everything is as before. One at a time: another one waits.
pub(crate) fn compact(
    shared: &Shared,
    stop: &Stop,
    on_progress: OnCompaction<'_>,
) -> Result<Compaction, Error> {
    let _running = shared.compactions.running.lock().unwrap_or_else(PoisonError::into_inner);
    shared.check()?;
    let outcome = attempt(shared, stop, on_progress);
    if outcome.is_err() {
        // What cannot be removed now goes when the store is opened the next time.
        let _ = shared.data_directory().remove_new_tree();
    }
    shared.release_log();
    shared.drop_retired();
    shared.compactions.note(&outcome, shared.options.clock.now());
    outcome
}

fn attempt(
    shared: &Shared,
    stop: &Stop,
    on_progress: OnCompaction<'_>,
) -> Result<Compaction, Error> {
    let (files, view) = shared.current();
    shared.keep_log(view.applied);
    // The new tree must not have what a crash could still take from the log.
    shared.sync_log().map_err(|error| shared.fail(error))?;
    let before_bytes = files.tree.file().bytes();
    let mut progress = Compaction {
        before_bytes,
        needed_bytes: files.tree.live_bytes(),
        after_bytes: before_bytes,
        ..Compaction::default()
    };
    go_on(on_progress(progress))?;
    check_space(shared, progress.needed_bytes)?;
    let mut pace = Pace::new(shared, stop, &files);
    copy(shared, &view, &mut pace, &mut |rows, copied_bytes| {
        (progress.rows, progress.copied_bytes) = (rows, copied_bytes);
        go_on(on_progress(progress))
    })?;
    // Held longer, it would keep the pages of its moment for nothing.
    drop(view);
    let mut candidate = Candidate::open(shared, files)?;
    candidate.catch_up(shared, &mut pace)?;
    candidate.checkpoint(shared)?;
    candidate.catch_up(shared, &mut pace)?;
    let replaced = reply::wait(shared.queue.submit(Work::Alone(Task::ReplaceTree(candidate))));
    replaced.ok_or(Error::Closed)??;
    shared.scrub.start_again();
    shared.found_damages.forget(&shared.data_directory().tree());
    shared.sync_replaced_tree()?;
    progress.after_bytes = shared.files().tree.file().bytes();
    // It is done, whatever they want now.
    let _ = on_progress(progress);
    Ok(progress)
}

/// An error if the copy would not fit on the disk, with some room for those who write meanwhile.
fn check_space(shared: &Shared, needed_bytes: u64) -> Result<(), Error> {
    let margin_bytes = needed_bytes / 4 + 2 * shared.options.log_segment_bytes;
    let wanted_bytes = needed_bytes.saturating_add(margin_bytes);
    let free_bytes = shared.free_bytes().unwrap_or(u64::MAX);
    if free_bytes >= wanted_bytes {
        return Ok(());
    }
    let why = format!(
        "the disk has {free_bytes} bytes of free space, and a copy of the rows with some room to \
         write needs {wanted_bytes}; nothing was changed"
    );
    let cause = io::Error::new(io::ErrorKind::StorageFull, why);
    Err(io_error("compacting the tree", &shared.directory)(cause))
}

/// Copies a moment into the new file.
fn copy(
    shared: &Shared,
    view: &View,
    pace: &mut Pace<'_>,
    on_progress: &mut dyn FnMut(u64, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let directory = shared.data_directory();
    let path = directory.new_tree();
    let file = directory.create_new_tree()?;
    let at = (path.as_path(), shared.names.store);
    let file = TreeFile::new(file, at, FlushBy::Caller, UNWRITTEN_BYTES, None)?;
    let tree = Tree::open(file, CACHE_BYTES)?;
    copy_rows(&view.tree, &tree, COPY_BYTES, &mut |rows| {
        on_progress(rows, tree.live_bytes())?;
        pace.rest()
    })?;
    tree.close().map_err(of_new_tree)
}

/// Lets writers go first: while there are any, half of the time is theirs.
struct Pace<'a> {
    shared: &'a Shared,
    stop: &'a Stop,
    files: Arc<Files>,
    began: Instant,
    commit: CommitNo,
}

impl<'a> Pace<'a> {
    fn new(shared: &'a Shared, stop: &'a Stop, files: &Arc<Files>) -> Pace<'a> {
        let (files, commit) = (Arc::clone(files), shared.view().applied);
        Pace { shared, stop, files, began: Instant::now(), commit }
    }

    /// Pauses after some work; an error if it is in vain.
    fn rest(&mut self) -> Result<(), Error> {
        self.check()?;
        let commit = self.shared.view().applied;
        let is_alone = commit == self.commit;
        let pause = match self.shared.options.background {
            Background::Threads if !is_alone => self.began.elapsed(),
            Background::Threads | Background::Manual => Duration::ZERO,
        };
        if self.stop.wait(pause) {
            return Err(Error::Closed);
        }
        (self.began, self.commit) = (Instant::now(), commit);
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        self.shared.check()?;
        check_same(self.shared, &self.files)
    }
}

/// An error if the files were opened again after a fault: then the log goes on elsewhere.
fn check_same(shared: &Shared, files: &Arc<Files>) -> Result<(), Error> {
    if Arc::ptr_eq(files, &shared.files()) {
        return Ok(());
    }
    let cause = io::Error::other("the store was opened again after a fault");
    Err(io_error("compacting the tree", &shared.directory)(cause))
}

/// A new tree on its way to replace the one of these files.
pub(crate) struct Candidate {
    tree: Tree,
    catalog: Arc<Catalog>,
    applied: CommitNo,
    applied_at: Time,
    /// The last commit that its file has.
    in_tree: CommitNo,
    replaces: Arc<Files>,
}

impl Candidate {
    fn open(shared: &Shared, replaces: Arc<Files>) -> Result<Box<Candidate>, Error> {
        let directory = shared.data_directory();
        let new_path = directory.new_tree();
        let file = directory.disk.open(&new_path, OpenMode::ReadWrite);
        let file = file.map_err(io_error("opening the compacted tree", &new_path))?;
        // From now on it goes by the name that it will have.
        let at = (directory.tree(), shared.names.store);
        let file = tree_file(file, (&at.0, at.1), &shared.options, None)?;
        let tree = Tree::open(file, shared.options.cache_bytes())?;
        let (catalog, applied, applied_at) = load(&tree)?;
        let in_tree = applied;
        Ok(Box::new(Candidate { tree, catalog, applied, applied_at, in_tree, replaces }))
    }

    /// Replays what was written since, until little is left.
    fn catch_up(&mut self, shared: &Shared, pace: &mut Pace<'_>) -> Result<(), Error> {
        for _ in 0..CATCH_UPS_MAX {
            pace.check()?;
            let newest = shared.view().applied;
            let behind = newest.0 - self.applied.0;
            self.replay(newest)?;
            if behind <= BEHIND_COMMITS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Brings everything replayed to the disk, so that little need be replayed after a crash.
    fn checkpoint(&mut self, shared: &Shared) -> Result<(), Error> {
        // The tree on disk never has a commit that the log on disk lacks.
        shared.sync_log().map_err(|error| shared.fail(error))?;
        self.tree.checkpoint()?;
        self.tree.file().drain().map_err(Error::Io)?;
        self.in_tree = self.applied;
        Ok(())
    }

    fn replay(&mut self, newest: CommitNo) -> Result<(), Error> {
        let mut replay = Replay {
            tree: &self.tree,
            catalog: &mut self.catalog,
            applied: self.applied,
            last_at: self.applied_at,
        };
        let replayed = replay.run_until(&self.replaces.log, newest);
        (self.applied, self.applied_at) = (replay.applied, replay.last_at);
        replayed?;
        self.tree.file().failure().map_or(Ok(()), |failure| Err(Error::Io(failure)))
    }

    /// Takes the place of the tree that it was copied from. Runs on the committer's thread, with the
    /// log synced: nothing is written meanwhile.
    pub(crate) fn replace(
        mut self,
        shared: &Shared,
        written: (Arc<Segment>, CommitNo),
    ) -> Result<(), Error> {
        check_same(shared, &self.replaces)?;
        self.replay(shared.view().applied)?;
        let (applied, applied_at) = (self.applied, self.applied_at);
        let view = View { tree: self.tree.view()?, catalog: self.catalog, applied, applied_at };
        let (log, synced) = (Arc::clone(&self.replaces.log), Arc::clone(&self.replaces.synced));
        let files = Files::new(log, self.tree, synced, written, self.in_tree);
        shared.replace_tree(files, view)
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate").field("applied", &self.applied).finish_non_exhaustive()
    }
}

/// It is the new tree that could not be written: the store takes writes as before.
fn of_new_tree(error: Error) -> Error {
    match error {
        Error::WritesRefused(failure) => Error::Io(failure),
        error => error,
    }
}
