//! What the engine's threads share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::{Damage, Error, Failure, Time};

use super::background_scrub::BackgroundScrub;
use super::compact::Compactions;
use super::directory::DataDirectory;
use super::files::Files;
use super::format::CommitNo;
use super::found_damages::FoundDamages;
use super::log::Retention;
use super::log_pins::{LogPin, LogPins};
use super::meters::Meters;
use super::open::StoreNames;
use super::options::Options;
use super::queue::Queue;
use super::view::View;

/// How long files that were opened again are kept for those who still read them.
const RETIRED_MILLIS: u64 = 60_000;

/// With less free space, or an eighth of a small disk, the log is trimmed as if nothing needed it.
const FREE_BYTES_MIN: u64 = 1 << 30;

/// What the engine's threads share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) directory: PathBuf,
    pub(crate) names: StoreNames,
    /// The last commit there was when the directory was opened.
    pub(crate) opened_at: CommitNo,
    pub(crate) queue: Queue,
    current: RwLock<Current>,
    /// Files that were replaced. Views of them can be read for as long as they are there.
    retired: Mutex<Vec<Retired>>,
    /// Held while the files are looked for by their names or the log is trimmed, and while a tree is
    /// replaced: neither may see half of that.
    upkeep: Mutex<()>,
    /// What follows this commit is kept in the log, for a compaction.
    log_needed_from: AtomicU64,
    /// The same for a tree that was replaced, and whose name may come back after a crash: the sync of
    /// the names has failed.
    log_needed_by_old: AtomicU64,
    /// The same for those who can do without.
    log_pins: LogPins,
    pub(crate) compactions: Compactions,
    failure: Mutex<Option<Arc<Failure>>>,
    pub(crate) meters: Meters,
    pub(crate) scrub: BackgroundScrub,
    pub(crate) found_damages: FoundDamages,
    /// Held for as long as anything above it lives.
    _lock: Box<dyn Send + Sync>,
}

/// Files that were replaced.
struct Retired {
    files: Arc<Files>,
    /// When they go even if somebody reads them: what they were opened from is being overwritten.
    until: Option<Time>,
}

/// What is replaced while the store is open.
struct Current {
    view: Arc<View>,
    files: Arc<Files>,
}

impl Shared {
    pub(crate) fn new(
        options: Options,
        directory: PathBuf,
        (names, lock): (StoreNames, Box<dyn Send + Sync>),
        files: Files,
        view: View,
    ) -> Shared {
        Shared {
            options,
            directory,
            names,
            opened_at: view.applied,
            queue: Queue::default(),
            failure: Mutex::new(files.tree.file().failure()),
            current: RwLock::new(Current { view: Arc::new(view), files: Arc::new(files) }),
            retired: Mutex::default(),
            upkeep: Mutex::default(),
            log_needed_from: AtomicU64::new(u64::MAX),
            log_needed_by_old: AtomicU64::new(u64::MAX),
            log_pins: LogPins::default(),
            compactions: Compactions::default(),
            meters: Meters::default(),
            scrub: BackgroundScrub::default(),
            found_damages: FoundDamages::default(),
            _lock: lock,
        }
    }

    pub(crate) fn data_directory(&self) -> DataDirectory {
        DataDirectory::new(Arc::clone(&self.options.disk), &self.directory)
    }

    /// The store now.
    pub(crate) fn view(&self) -> Arc<View> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).view)
    }

    /// The files as they are open now.
    pub(crate) fn files(&self) -> Arc<Files> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).files)
    }

    /// Both, as they belong together.
    pub(crate) fn current(&self) -> (Arc<Files>, Arc<View>) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&current.files), Arc::clone(&current.view))
    }

    /// Makes a newer moment the one that readers see.
    pub(crate) fn publish(&self, view: View) {
        let view = Arc::new(view);
        let before = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            debug_assert!(current.view.applied <= view.applied, "readers go back in time");
            std::mem::replace(&mut current.view, view)
        };
        // Letting go of a moment can be work; readers need not wait for it.
        drop(before);
    }

    /// Goes on with files that were opened again.
    pub(crate) fn replace(&self, files: Files, view: View) {
        let until = Time(self.options.clock.now().0.saturating_add(RETIRED_MILLIS));
        self.set_current(files, view, Some(until));
        *self.lock_failure() = None;
    }

    /// Puts a new tree in the place of the one in use, on disk and here. If that fails, nothing has
    /// changed. Views of the old tree can be read until they end. Until the names are synced, a crash
    /// can bring the old tree back, so the log keeps what that lacks.
    pub(crate) fn replace_tree(&self, files: Files, view: View) -> Result<(), Error> {
        let _upkeep = self.upkeep.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.data_directory();
        directory.install_new_tree()?;
        let old = self.set_current(files, view, None);
        self.keep_log(old.in_tree());
        let cause = std::io::Error::other("the tree was replaced by a compacted one");
        let replaced = Failure { doing: "writing the tree", path: directory.tree(), cause };
        old.tree.file().refuse(&Arc::new(replaced));
        Ok(())
    }

    /// Makes the name of a tree that has replaced another one safe. Writers need not wait for it.
    pub(crate) fn sync_replaced_tree(&self) -> Result<(), Error> {
        if let Err(error) = self.data_directory().sync_own_names() {
            // Nobody knows which tree the name will lead to after a crash.
            let needed_from = self.log_needed_from.load(Ordering::Acquire);
            self.log_needed_by_old.fetch_min(needed_from, Ordering::AcqRel);
            return Err(self.fail(error));
        }
        self.log_needed_by_old.store(u64::MAX, Ordering::Release);
        Ok(())
    }

    /// Returns the files until now.
    fn set_current(&self, files: Files, view: View, until: Option<Time>) -> Arc<Files> {
        let current = Current { view: Arc::new(view), files: Arc::new(files) };
        let before = {
            let mut now = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *now, current)
        };
        self.lock_retired().push(Retired { files: Arc::clone(&before.files), until });
        before.files
    }

    /// Lets go of files that were replaced and that nobody reads, or that must go.
    pub(crate) fn drop_retired(&self) {
        let now = self.options.clock.now();
        let is_due = |retired: &mut Retired| {
            !retired.files.tree.is_viewed() || retired.until.is_some_and(|until| until < now)
        };
        let gone: Vec<Retired> = self.lock_retired().extract_if(.., is_due).collect();
        // Closing a tree is work; those who replace one need not wait for it.
        drop(gone);
    }

    /// How many trees were replaced and are still read.
    pub(crate) fn retired_trees(&self) -> usize {
        self.lock_retired().len()
    }

    /// How many bytes they have.
    pub(crate) fn retired_bytes(&self) -> u64 {
        self.lock_retired().iter().map(|retired| retired.files.tree.file().bytes()).sum()
    }

    /// An error if a file that is written is no longer where the next process will look for it.
    pub(crate) fn check_in_place(&self) -> Result<(), Error> {
        let _upkeep = self.upkeep.lock().unwrap_or_else(PoisonError::into_inner);
        self.files().check_in_place().map_err(|error| self.fail(error))
    }

    /// Keeps in the log what follows a commit.
    pub(crate) fn keep_log(&self, from: CommitNo) {
        self.log_needed_from.fetch_min(from.0, Ordering::AcqRel);
    }

    /// Lets the log go again.
    pub(crate) fn release_log(&self) {
        self.log_needed_from.store(u64::MAX, Ordering::Release);
    }

    /// Keeps all of the log that there is now, as long as that is no danger to writers.
    pub(crate) fn pin_log(&self) -> LogPin<'_> {
        let _upkeep = self.upkeep.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = self.files().log.oldest().unwrap_or(CommitNo::NONE.next());
        self.log_pins.pin(CommitNo(oldest.0.saturating_sub(1)))
    }

    /// Whether the log is so large, or the disk so full, that nothing is kept for those who can do
    /// without.
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

    /// Free bytes of the file system of the directory, if they can be told.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        self.options.disk.free_bytes(&self.directory).ok().flatten()
    }

    /// Bytes that it has.
    pub(crate) fn total_bytes(&self) -> Option<u64> {
        self.options.disk.total_bytes(&self.directory).ok().flatten()
    }

    /// An error if something has failed and no more writes are taken.
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

    /// Takes no more writes from now on. Returns what their callers are told.
    pub(crate) fn fail(&self, error: Error) -> Error {
        let failure = match &error {
            Error::Io(failure) | Error::WritesRefused(failure) => Arc::clone(failure),
            other => Arc::new(Failure {
                doing: "writing",
                path: self.directory.clone(),
                cause: std::io::Error::new(std::io::ErrorKind::InvalidData, other.to_string()),
            }),
        };
        // redb commits once more when it is dropped; what the log may lack must not get there.
        self.files().tree.file().refuse(&failure);
        Error::WritesRefused(Arc::clone(self.lock_failure().get_or_insert(failure)))
    }

    /// How many damaged places of the files were found so far, by whomever, and the last of them.
    pub(crate) fn damages(&self) -> (u64, Option<Arc<Damage>>) {
        for damage in self.files().tree.file().damages().met() {
            self.found_damages.note(damage);
        }
        self.found_damages.count()
    }

    /// Removes what of the log need not be kept.
    pub(crate) fn trim_log(&self) -> Result<u64, Error> {
        let keep = Retention {
            millis: self.options.keep_log_secs.saturating_mul(1000),
            bytes: self.options.keep_log_bytes,
        };
        let _upkeep = self.upkeep.lock().unwrap_or_else(PoisonError::into_inner);
        let needed_by = [&self.log_needed_from, &self.log_needed_by_old];
        let needed_from = needed_by.map(|commit| CommitNo(commit.load(Ordering::Acquire)));
        let needed_from = needed_from[0].min(needed_from[1]);
        if self.is_log_too_large()? {
            self.log_pins.lapse();
        }
        let needed_from = needed_from.min(self.log_pins.needed_from());
        self.files().trim_log(needed_from, keep, self.options.clock.now())
    }

    /// Makes what the log has been given safe, from outside the committer.
    pub(crate) fn sync_log(&self) -> Result<(), Error> {
        self.files().sync_log(&self.meters)
    }

    fn lock_failure(&self) -> MutexGuard<'_, Option<Arc<Failure>>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_retired(&self) -> MutexGuard<'_, Vec<Retired>> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
