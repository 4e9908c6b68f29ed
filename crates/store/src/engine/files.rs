//! The open files of a store: the log and the tree. After a transient fault they are reopened
//! together, while readers continue with the old ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, Time};

use super::format::CommitNo;
use super::log::{LogDirectory, Retention, Segment};
use super::metrics::Metrics;
use super::tree::Tree;

/// The open files of a store.
pub(crate) struct Files {
    pub(crate) log: Arc<LogDirectory>,
    pub(crate) tree: Tree,
    /// The last durable commit in the log.
    pub(crate) synced: Arc<AtomicU64>,
    /// The segment being written and the last commit in it: what a background sync covers.
    written: Mutex<(Arc<Segment>, CommitNo)>,
    /// Checkpoints on their way to disk: after this many syncs of the tree's file, the tree on disk
    /// has the commit.
    checkpoints: Mutex<VecDeque<(u64, CommitNo)>>,
    in_tree: AtomicU64,
}

impl Files {
    /// `written` is the segment being written and its last commit, `in_tree` the last commit in the
    /// tree on disk.
    pub(crate) fn new(
        log: Arc<LogDirectory>,
        tree: Tree,
        synced: Arc<AtomicU64>,
        written: (Arc<Segment>, CommitNo),
        in_tree: CommitNo,
    ) -> Files {
        let (checkpoints, in_tree) = (Mutex::default(), AtomicU64::new(in_tree.0));
        Files { log, tree, synced, written: Mutex::new(written), checkpoints, in_tree }
    }

    /// Fails if a file that is being written is no longer at its path, where the next process will
    /// look for it. Called several times a second: checking at every commit would make commits a
    /// tenth slower.
    pub(crate) fn check_in_place(&self) -> Result<(), Error> {
        self.log.check_in_place()?;
        self.tree.file().check_in_place()
    }

    /// Sets what a background sync has to cover.
    pub(crate) fn set_written(&self, written: (Arc<Segment>, CommitNo)) {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = written;
    }

    pub(crate) fn note_checkpoint(&self, syncs: u64, commit: CommitNo) {
        let mut checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        // `Files::in_tree` takes them from the front.
        debug_assert!(
            checkpoints.back().is_none_or(|last| last.0 <= syncs && last.1 <= commit),
            "checkpoints are in order"
        );
        checkpoints.push_back((syncs, commit));
    }

    /// Returns the last commit in the tree on disk.
    pub(crate) fn in_tree(&self) -> CommitNo {
        let done = self.tree.file().syncs_done();
        let mut checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((syncs, commit)) = checkpoints.front()
            && *syncs <= done
        {
            self.in_tree.fetch_max(commit.0, Ordering::AcqRel);
            checkpoints.pop_front();
        }
        CommitNo(self.in_tree.load(Ordering::Acquire))
    }

    /// Removes log segments that need not be kept, but nothing after `needed_from` nor what the
    /// tree on disk lacks.
    pub(crate) fn trim_log(
        &self,
        needed_from: CommitNo,
        keep: Retention,
        now: Time,
    ) -> Result<u64, Error> {
        self.log.trim(self.in_tree().min(needed_from), keep, now)
    }

    /// Syncs the log, from outside the committer.
    pub(crate) fn sync_log(&self, metrics: &Metrics) -> Result<(), Error> {
        let (segment, last) = self.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.synced.load(Ordering::Acquire) < last.0 {
            metrics.sync(|| segment.sync())?;
            self.synced.fetch_max(last.0, Ordering::AcqRel);
            self.log.note_synced(last);
        }
        Ok(())
    }
}
