//! Compaction: copies the rows of the tree into a new file without free space, which then replaces
//! the old one.
//!
//! redb releases only free space at the end of its file, and after many deletions there is nearly
//! always something in use there. So a snapshot of the tree is copied row by row, while readers and
//! writers continue; what is written meanwhile is replayed from the log; and the committer replaces
//! the old file with the new one between two commit batches. Until then only the new file is
//! written, under a name that the next open removes.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{Error, OpenMode};

use super::backup::copy_rows;
use super::candidate::Candidate;
use super::compactions::{Compaction, OnCompaction};
use super::files::Files;
use super::format::CommitNo;
use super::log::Segment;
use super::open::tree_file;
use super::options::Background;
use super::queue::{Operation, Work};
use super::replay::load;
use super::reply;
use super::shared::Shared;
use super::stop::Stop;
use super::tree::Tree;
use super::tree_file::{FlushBy, TreeFile};
use super::view::View;
use super::{check_continue, io_error};

/// Memory for the new file while rows are copied: redb's cache, and unwritten pages.
const CACHE_BYTES: usize = 16 << 20;
const UNWRITTEN_BYTES: usize = 4 << 20;
/// Bytes copied before writers get the disk.
const COPY_BYTES: usize = 1 << 20;
/// Commits that the committer may have to replay: a few milliseconds.
const BEHIND_COMMITS_MAX: u64 = 200;
/// How many times to try to get that close. Replaying is faster than writing, so each time less is
/// left.
const CATCH_UPS_MAX: usize = 20;
/// Automatic compaction waits while readers hold this many replaced trees.
const RETIRED_MAX: usize = 4;

/// Whether enough of the tree's file is unused for an automatic compaction. Any tree that is
/// written to grows to 1.5 times its rows, because pages fill unevenly, plus two checkpoints, whose
/// old pages are kept until the next: a copy would not stay smaller.
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

/// Compacts the tree. On failure, everything is as before. One runs at a time; others wait.
pub(crate) fn compact(
    shared: &Shared,
    stop: &Stop,
    on_progress: OnCompaction<'_>,
) -> Result<Compaction, Error> {
    let _running = shared.compactions.start();
    shared.check()?;
    let outcome = attempt(shared, stop, on_progress);
    if outcome.is_err() {
        // What cannot be removed now is removed when the store is next opened.
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
    check_continue(on_progress(progress))?;
    check_space(shared, progress.needed_bytes)?;
    let mut pace = Pace::new(shared, stop, &files);
    copy(shared, &view, &mut pace, &mut |rows, copied_bytes| {
        (progress.rows, progress.copied_bytes) = (rows, copied_bytes);
        check_continue(on_progress(progress))
    })?;
    // Held longer, it would keep old pages alive for nothing.
    drop(view);
    let mut candidate = Candidate::open(shared, files)?;
    candidate.catch_up(shared, &mut pace)?;
    candidate.checkpoint(shared)?;
    candidate.catch_up(shared, &mut pace)?;
    let replaced =
        reply::wait(shared.queue.submit(Work::Exclusive(Operation::ReplaceTree(candidate))));
    replaced.ok_or(Error::Closed)??;
    shared.scrub.start_again();
    shared.found_damage.forget(&shared.data_directory().tree());
    shared.sync_replaced_tree()?;
    progress.after_bytes = shared.files().tree.file().bytes();
    // It is done; the callback can no longer stop it.
    let _ = on_progress(progress);
    Ok(progress)
}

/// Fails if the copy would not fit on the disk, with some room for concurrent writes.
fn check_space(shared: &Shared, needed_bytes: u64) -> Result<(), Error> {
    let margin_bytes = needed_bytes / 4 + 2 * shared.options.log_segment_bytes;
    let wanted_bytes = needed_bytes.saturating_add(margin_bytes);
    let free_bytes = shared.free_bytes().unwrap_or(u64::MAX);
    if free_bytes >= wanted_bytes {
        return Ok(());
    }
    let why = format!(
        "the disk has {free_bytes} bytes of free space, and the copy needs {wanted_bytes}, including \
         some for concurrent writes; nothing was changed"
    );
    let cause = io::Error::new(io::ErrorKind::StorageFull, why);
    Err(io_error("compacting the tree", &shared.directory)(cause))
}

/// Copies a snapshot into the new file.
fn copy(
    shared: &Shared,
    view: &View,
    pace: &mut Pace<'_>,
    on_progress: &mut dyn FnMut(u64, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let directory = shared.data_directory();
    let path = directory.new_tree();
    let file = directory.create_new_tree()?;
    let at = (path.as_path(), shared.ids.store);
    let file = TreeFile::new(file, at, FlushBy::Caller, UNWRITTEN_BYTES, None)?;
    let tree = Tree::open(file, CACHE_BYTES)?;
    copy_rows(&view.tree, &tree, COPY_BYTES, &mut |rows| {
        on_progress(rows, tree.live_bytes())?;
        pace.rest()
    })?;
    tree.close().map_err(as_io_error)
}

/// Yields to writers: while there are any, they get half of the time.
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

    /// Pauses after some work; fails if continuing is pointless.
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
        check_files_unchanged(self.shared, &self.files)
    }
}

/// Fails if the files were reopened after a fault: the log then continues in other files.
fn check_files_unchanged(shared: &Shared, files: &Arc<Files>) -> Result<(), Error> {
    if Arc::ptr_eq(files, &shared.files()) {
        return Ok(());
    }
    let cause = io::Error::other("the store was reopened after a fault");
    Err(io_error("compacting the tree", &shared.directory)(cause))
}

impl Candidate {
    fn open(shared: &Shared, replaces: Arc<Files>) -> Result<Box<Candidate>, Error> {
        let directory = shared.data_directory();
        let new_path = directory.new_tree();
        let file = directory.disk.open(&new_path, OpenMode::ReadWrite);
        let file = file.map_err(io_error("opening the compacted tree", &new_path))?;
        // From now on, errors name the path that it will have.
        let at = (directory.tree(), shared.ids.store);
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
            debug_assert!(self.applied <= newest, "a candidate is never ahead of the store");
            let behind = newest.0 - self.applied.0;
            self.replay(newest)?;
            if behind <= BEHIND_COMMITS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Writes everything replayed to disk, so that little needs to be replayed after a crash.
    fn checkpoint(&mut self, shared: &Shared) -> Result<(), Error> {
        // The tree on disk never has a commit that the log on disk lacks.
        shared.sync_log().map_err(|error| shared.fail(error))?;
        self.tree.checkpoint()?;
        self.tree.file().drain().map_err(Error::Io)?;
        self.in_tree = self.applied;
        Ok(())
    }

    /// Replaces the tree that it was copied from. Runs on the committer's thread, with the log
    /// synced: nothing is written meanwhile.
    pub(crate) fn replace(
        mut self,
        shared: &Shared,
        written: (Arc<Segment>, CommitNo),
    ) -> Result<(), Error> {
        check_files_unchanged(shared, &self.replaces)?;
        self.replay(shared.view().applied)?;
        let (applied, applied_at) = (self.applied, self.applied_at);
        let view = View { tree: self.tree.view()?, catalog: self.catalog, applied, applied_at };
        let (log, synced) = (Arc::clone(&self.replaces.log), Arc::clone(&self.replaces.synced));
        let files = Files::new(log, self.tree, synced, written, self.in_tree);
        shared.replace_tree(files, view)
    }
}

/// Only the new tree could not be written: the store still accepts writes.
fn as_io_error(error: Error) -> Error {
    match error {
        Error::WritesRefused(failure) => Error::Io(failure),
        error => error,
    }
}
