//! State shared by the engine's threads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::signal::Signal;
use crate::{Damage, Error, Failure, Time};

use super::background_scrub::{BackgroundScrub, ScrubTarget};
use super::compactions::Compactions;
use super::directory::{DataDirectory, StoreIds};
use super::files::Files;
use super::format::CommitNo;
use super::found_damage::FoundDamage;
use super::log::Retention;
use super::log_pins::{LogPin, LogPins};
use super::metrics::Metrics;
use super::options::Options;
use super::queue::Queue;
use super::view::View;

/// How long files that were reopened stay usable for readers of the old ones.
const RETIRED_MILLIS: u64 = 60_000;

/// With less free space, or less than an eighth of a small disk, the log is trimmed even if it is
/// pinned.
const FREE_BYTES_MIN: u64 = 1 << 30;

/// State shared by the engine's threads.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) directory: PathBuf,
    pub(crate) ids: StoreIds,
    /// The last commit when the directory was opened.
    pub(crate) opened_at: CommitNo,
    pub(crate) queue: Queue,
    current: RwLock<Current>,
    /// Replaced files. Views of them stay readable while they are here.
    retired: Mutex<Vec<Retired>>,
    /// Held while a tree is replaced, and while files are checked by name or the log is trimmed,
    /// which must not see a half-done replacement.
    file_names: Mutex<()>,
    /// A compaction needs the log after this commit.
    log_needed_from: AtomicU64,
    /// Like `log_needed_from`, for a replaced tree whose name may come back after a crash because
    /// syncing the directory failed.
    log_needed_by_old: AtomicU64,
    /// Parts of the log that are kept as long as there is space.
    log_pins: LogPins,
    pub(crate) compactions: Compactions,
    failure: Mutex<Option<Arc<Failure>>>,
    pub(crate) metrics: Metrics,
    pub(crate) scrub: BackgroundScrub,
    pub(crate) found_damage: FoundDamage,
    /// Notified when the feed may have new changes.
    pub(crate) feed: Signal,
    /// The lock of the directory; dropped after everything above it.
    _lock: Box<dyn Send + Sync>,
}

/// Files that were replaced.
struct Retired {
    files: Arc<Files>,
    /// When they are dropped even if a reader uses them: the file they were opened from is being
    /// overwritten.
    until: Option<Time>,
}

/// What can be replaced while the store is open.
struct Current {
    view: Arc<View>,
    files: Arc<Files>,
}

impl Shared {
    pub(crate) fn new(
        options: Options,
        directory: PathBuf,
        (ids, lock): (StoreIds, Box<dyn Send + Sync>),
        files: Files,
        view: View,
    ) -> Shared {
        Shared {
            options,
            directory,
            ids,
            opened_at: view.applied,
            queue: Queue::default(),
            failure: Mutex::new(files.tree.file().failure()),
            current: RwLock::new(Current { view: Arc::new(view), files: Arc::new(files) }),
            retired: Mutex::default(),
            file_names: Mutex::default(),
            log_needed_from: AtomicU64::new(u64::MAX),
            log_needed_by_old: AtomicU64::new(u64::MAX),
            log_pins: LogPins::default(),
            compactions: Compactions::default(),
            metrics: Metrics::default(),
            scrub: BackgroundScrub::default(),
            found_damage: FoundDamage::default(),
            feed: Signal::default(),
            _lock: lock,
        }
    }

    pub(crate) fn data_directory(&self) -> DataDirectory {
        DataDirectory::new(Arc::clone(&self.options.disk), &self.directory)
    }

    /// Returns the view that new readers get.
    pub(crate) fn view(&self) -> Arc<View> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).view)
    }

    /// Returns the open files.
    pub(crate) fn files(&self) -> Arc<Files> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).files)
    }

    /// Returns the files and the view that belongs to them.
    pub(crate) fn current(&self) -> (Arc<Files>, Arc<View>) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&current.files), Arc::clone(&current.view))
    }

    /// Publishes a newer view to readers.
    pub(crate) fn publish(&self, view: View) {
        let view = Arc::new(view);
        let before = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            debug_assert!(current.view.applied <= view.applied, "readers go back in time");
            std::mem::replace(&mut current.view, view)
        };
        self.feed.notify();
        // Dropping a view can take time; readers need not wait for it.
        drop(before);
    }

    /// Continues with reopened files.
    pub(crate) fn replace(&self, files: Files, view: View) {
        let until = Time(self.options.clock.now().0.saturating_add(RETIRED_MILLIS));
        self.set_current(files, view, Some(until));
        *self.lock_failure() = None;
    }

    /// Replaces the tree in use with a new one, on disk and in memory. On failure, nothing has
    /// changed. Views of the old tree stay readable until they are dropped. Until the directory is
    /// synced, a crash can bring the old tree back, so the log keeps what that tree lacks.
    pub(crate) fn replace_tree(&self, files: Files, view: View) -> Result<(), Error> {
        let _file_names = self.file_names.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.data_directory();
        directory.install_new_tree()?;
        let old = self.set_current(files, view, None);
        self.keep_log(old.in_tree());
        let cause = std::io::Error::other("the tree was replaced by a compacted one");
        let replaced = Failure { doing: "writing the tree", path: directory.tree(), cause };
        old.tree.file().refuse(&Arc::new(replaced));
        Ok(())
    }

    /// Makes the name of a replacement tree durable. Writers need not wait for it.
    pub(crate) fn sync_replaced_tree(&self) -> Result<(), Error> {
        if let Err(error) = self.data_directory().sync_own_names() {
            // It is unknown which tree the name refers to after a crash.
            let needed_from = self.log_needed_from.load(Ordering::Acquire);
            self.log_needed_by_old.fetch_min(needed_from, Ordering::AcqRel);
            return Err(self.fail(error));
        }
        self.log_needed_by_old.store(u64::MAX, Ordering::Release);
        Ok(())
    }

    /// Returns the previous files.
    fn set_current(&self, files: Files, view: View, until: Option<Time>) -> Arc<Files> {
        let current = Current { view: Arc::new(view), files: Arc::new(files) };
        let before = {
            let mut now = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *now, current)
        };
        self.lock_retired().push(Retired { files: Arc::clone(&before.files), until });
        before.files
    }

    /// Drops replaced files that no reader uses, or whose time is over.
    pub(crate) fn drop_retired(&self) {
        let now = self.options.clock.now();
        let is_due = |retired: &mut Retired| {
            !retired.files.tree.is_viewed() || retired.until.is_some_and(|until| until < now)
        };
        let gone: Vec<Retired> = self.lock_retired().extract_if(.., is_due).collect();
        // Closing a tree takes time; threads that replace one need not wait for it.
        drop(gone);
    }

    /// Returns how many replaced trees readers still use.
    pub(crate) fn retired_trees(&self) -> usize {
        self.lock_retired().len()
    }

    /// Returns the size of these trees in bytes.
    pub(crate) fn retired_bytes(&self) -> u64 {
        self.lock_retired().iter().map(|retired| retired.files.tree.file().bytes()).sum()
    }

    /// Fails if a file that is being written is no longer at its path, where the next process will
    /// look for it.
    pub(crate) fn check_in_place(&self) -> Result<(), Error> {
        let _file_names = self.file_names.lock().unwrap_or_else(PoisonError::into_inner);
        self.files().check_in_place().map_err(|error| self.fail(error))
    }

    /// Retains the log after a commit.
    pub(crate) fn keep_log(&self, from: CommitNo) {
        self.log_needed_from.fetch_min(from.0, Ordering::AcqRel);
    }

    /// Ends what [`Shared::keep_log`] began.
    pub(crate) fn release_log(&self) {
        self.log_needed_from.store(u64::MAX, Ordering::Release);
    }

    /// Pins the whole current log, as long as that does not endanger writes.
    pub(crate) fn pin_log(&self) -> LogPin<'_> {
        let _file_names = self.file_names.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = self.files().log.oldest().unwrap_or(CommitNo::NONE.next());
        self.log_pins.pin(CommitNo(oldest.0.saturating_sub(1)))
    }

    /// Whether the log is so large, or the disk so full, that pins lapse.
    fn is_log_too_large(&self) -> Result<bool, Error> {
        let bytes = self.files().log.bytes()?;
        let keep_bytes = self.options.keep_log_bytes;
        let is_filling = || {
            let (free_bytes, total_bytes) = (self.free_bytes(), self.total_bytes());
            let enough_bytes = FREE_BYTES_MIN.min(total_bytes.unwrap_or(u64::MAX) / 8);
            free_bytes.is_some_and(|free_bytes| free_bytes < enough_bytes)
        };
        Ok(bytes > keep_bytes && (bytes / 2 > keep_bytes || is_filling()))
    }

    /// Returns the free bytes of the directory's file system, if the platform reports them.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        self.options.disk.free_bytes(&self.directory).ok().flatten()
    }

    /// Returns the total bytes of the directory's file system, if the platform reports them.
    pub(crate) fn total_bytes(&self) -> Option<u64> {
        self.options.disk.total_bytes(&self.directory).ok().flatten()
    }

    /// Fails if something has failed and writes are refused.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut failure = self.lock_failure();
        if failure.is_none() {
            *failure = self.files().tree.file().failure();
        }
        match &*failure {
            None => Ok(()),
            Some(failure) => Err(Error::WritesRefused(Arc::clone(failure))),
        }
    }

    /// Refuses writes from now on. Returns the error that writers get.
    pub(crate) fn fail(&self, error: Error) -> Error {
        let failure = match &error {
            Error::Io(failure) | Error::WritesRefused(failure) => Arc::clone(failure),
            other => Arc::new(Failure {
                doing: "writing",
                path: self.directory.clone(),
                cause: std::io::Error::new(std::io::ErrorKind::InvalidData, other.to_string()),
            }),
        };
        // redb commits once more when it is dropped; what the log may lack must not be written
        // then.
        self.files().tree.file().refuse(&failure);
        Error::WritesRefused(Arc::clone(self.lock_failure().get_or_insert(failure)))
    }

    /// Returns how many damaged positions were found so far, and the last of them.
    pub(crate) fn damage(&self) -> (u64, Option<Arc<Damage>>) {
        for damage in self.files().tree.file().damage().found_damage() {
            self.found_damage.note(damage);
        }
        self.found_damage.count()
    }

    /// Runs a round of the background scrub.
    pub(crate) fn scrub_round(&self, bytes_max: u64) {
        let (files, tree) = (self.files(), self.data_directory().tree());
        let (found, now) = (&self.found_damage, self.options.clock.now());
        self.scrub.round(ScrubTarget { files: &files, tree: &tree, found, now }, bytes_max);
    }

    /// Removes log segments that need not be kept.
    pub(crate) fn trim_log(&self) -> Result<u64, Error> {
        let keep = Retention {
            millis: self.options.keep_log_secs.saturating_mul(1000),
            bytes: self.options.keep_log_bytes,
        };
        let _file_names = self.file_names.lock().unwrap_or_else(PoisonError::into_inner);
        let needed_by = [&self.log_needed_from, &self.log_needed_by_old];
        let needed_from = needed_by.map(|commit| CommitNo(commit.load(Ordering::Acquire)));
        let needed_from = needed_from[0].min(needed_from[1]);
        if self.is_log_too_large()? {
            self.log_pins.lapse();
        }
        let needed_from = needed_from.min(self.log_pins.needed_from());
        self.files().trim_log(needed_from, keep, self.options.clock.now())
    }

    /// Syncs the log, from outside the committer.
    pub(crate) fn sync_log(&self) -> Result<(), Error> {
        self.files().sync_log(&self.metrics)?;
        // The changes of a relaxed store are in the feed once they are synced.
        self.feed.notify();
        Ok(())
    }

    fn lock_failure(&self) -> MutexGuard<'_, Option<Arc<Failure>>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_retired(&self) -> MutexGuard<'_, Vec<Retired>> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
