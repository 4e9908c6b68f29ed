//! What the engine's threads share.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::{Error, Failure};

use super::format::CommitNo;
use super::log::{LogDirectory, Retention, Segment};
use super::meters::Meters;
use super::options::Options;
use super::queue::Queue;
use super::tree::Tree;
use super::view::View;

/// What the engine's threads share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) directory: PathBuf,
    /// The last commit there was when the directory was opened.
    pub(crate) opened_at: CommitNo,
    pub(crate) queue: Queue,
    pub(crate) log: Arc<LogDirectory>,
    /// The last commit in the log that is safe on disk.
    pub(crate) synced: Arc<AtomicU64>,
    /// Where the log is being written, and the last commit in it: what a background sync syncs.
    pub(crate) written: Mutex<(Arc<Segment>, CommitNo)>,
    view: RwLock<Arc<View>>,
    /// Checkpoints on their way to the disk: after so many syncs of the tree's file, the tree on
    /// disk has the commit.
    checkpoints: Mutex<VecDeque<(u64, CommitNo)>>,
    in_tree: AtomicU64,
    failure: Mutex<Option<Arc<Failure>>>,
    pub(crate) tree: Tree,
    pub(crate) meters: Meters,
    /// Held for as long as anything above it lives.
    _lock: Box<dyn Send + Sync>,
}

/// What opening a directory gives.
pub(crate) struct Opened {
    pub(crate) options: Options,
    pub(crate) directory: PathBuf,
    pub(crate) log: Arc<LogDirectory>,
    pub(crate) synced: Arc<AtomicU64>,
    pub(crate) active: Arc<Segment>,
    pub(crate) tree: Tree,
    pub(crate) view: View,
    /// The commit that the tree on disk has.
    pub(crate) in_tree: CommitNo,
    pub(crate) lock: Box<dyn Send + Sync>,
}

impl Shared {
    pub(crate) fn new(opened: Opened) -> Shared {
        let applied = opened.view.applied;
        Shared {
            options: opened.options,
            directory: opened.directory,
            opened_at: applied,
            queue: Queue::default(),
            log: opened.log,
            synced: opened.synced,
            written: Mutex::new((opened.active, applied)),
            view: RwLock::new(Arc::new(opened.view)),
            checkpoints: Mutex::default(),
            in_tree: AtomicU64::new(opened.in_tree.0),
            failure: Mutex::new(opened.tree.file().failure()),
            tree: opened.tree,
            meters: Meters::default(),
            _lock: opened.lock,
        }
    }

    /// The store now.
    pub(crate) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a newer moment the one that readers see.
    pub(crate) fn publish(&self, view: View) {
        let view = Arc::new(view);
        let before = {
            let mut current = self.view.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, view)
        };
        // Letting go of a moment can be work; readers need not wait for it.
        drop(before);
    }

    /// An error if something has failed and no more writes are taken.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            *failure = self.tree.file().failure();
        }
        match &*failure {
            None => Ok(()),
            Some(failure) => Err(Error::WritesRefused(Arc::clone(failure))),
        }
    }

    /// Takes no more writes from now on. Returns what their callers are told.
    pub(crate) fn fail(&self, error: Error) -> Error {
        let failure = match &error {
            Error::Io(failure) | Error::WritesRefused(failure) => Arc::clone(failure),
            other => Arc::new(Failure {
                doing: "writing",
                path: self.directory.clone(),
                cause: std::io::Error::other(other.to_string()),
            }),
        };
        // redb commits once more when it is dropped; what the log may lack must not get there.
        self.tree.file().refuse(&failure);
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        Error::WritesRefused(Arc::clone(first.get_or_insert(failure)))
    }

    pub(crate) fn note_checkpoint(&self, syncs: u64, commit: CommitNo) {
        let mut checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        checkpoints.push_back((syncs, commit));
    }

    /// The last commit that the tree on disk has.
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

    /// Removes what of the log need not be kept.
    pub(crate) fn trim_log(&self) -> Result<u64, Error> {
        let keep = Retention {
            millis: self.options.keep_log_secs.saturating_mul(1000),
            bytes: self.options.keep_log_bytes,
        };
        self.log.trim(self.in_tree(), keep, self.options.clock.now())
    }

    /// Makes what the log has been given safe, from outside the committer.
    pub(crate) fn sync_log(&self) -> Result<(), Error> {
        let (segment, last) = self.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.synced.load(Ordering::Acquire) < last.0 {
            self.meters.sync(|| segment.sync())?;
            self.synced.fetch_max(last.0, Ordering::AcqRel);
            self.log.note_synced(last);
        }
        Ok(())
    }
}
