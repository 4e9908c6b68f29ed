//! What the engine's threads share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::{Error, Failure, Time};

use super::background_scrub::BackgroundScrub;
use super::directory::DataDirectory;
use super::files::Files;
use super::format::CommitNo;
use super::log::Retention;
use super::meters::Meters;
use super::options::Options;
use super::queue::Queue;
use super::view::View;

/// How long files that were replaced are kept for those who still read them.
const RETIRED_MILLIS: u64 = 60_000;

/// What the engine's threads share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) directory: PathBuf,
    /// The number of the store.
    pub(crate) store: u64,
    /// The last commit there was when the directory was opened.
    pub(crate) opened_at: CommitNo,
    pub(crate) queue: Queue,
    current: RwLock<Current>,
    /// The files before the last time that they were opened again, and when that was. Views of them
    /// can be read for as long as they are there.
    retired: Mutex<Option<(Arc<Files>, Time)>>,
    failure: Mutex<Option<Arc<Failure>>>,
    pub(crate) meters: Meters,
    pub(crate) scrub: BackgroundScrub,
    /// Held for as long as anything above it lives.
    _lock: Box<dyn Send + Sync>,
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
        (store, lock): (u64, Box<dyn Send + Sync>),
        files: Files,
        view: View,
    ) -> Shared {
        Shared {
            options,
            directory,
            store,
            opened_at: view.applied,
            queue: Queue::default(),
            failure: Mutex::new(files.tree.file().failure()),
            current: RwLock::new(Current { view: Arc::new(view), files: Arc::new(files) }),
            retired: Mutex::default(),
            meters: Meters::default(),
            scrub: BackgroundScrub::default(),
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

    /// Makes a newer moment the one that readers see.
    pub(crate) fn publish(&self, view: View) {
        let view = Arc::new(view);
        let before = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut current.view, view)
        };
        // Letting go of a moment can be work; readers need not wait for it.
        drop(before);
    }

    /// Goes on with files that were opened again.
    pub(crate) fn replace(&self, files: Files, view: View) {
        let current = Current { view: Arc::new(view), files: Arc::new(files) };
        let before = {
            let mut now = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *now, current)
        };
        let retired = (before.files, self.options.clock.now());
        let older = self.lock_retired().replace(retired);
        drop((before.view, older));
        *self.lock_failure() = None;
    }

    /// Lets go of files that were replaced long enough ago.
    pub(crate) fn drop_retired(&self) {
        let now = self.options.clock.now();
        let gone = self.lock_retired().take_if(|(_, at)| at.0 + RETIRED_MILLIS < now.0);
        drop(gone);
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

    /// Removes what of the log need not be kept.
    pub(crate) fn trim_log(&self) -> Result<u64, Error> {
        let keep = Retention {
            millis: self.options.keep_log_secs.saturating_mul(1000),
            bytes: self.options.keep_log_bytes,
        };
        self.files().trim_log(keep, self.options.clock.now())
    }

    /// Makes what the log has been given safe, from outside the committer.
    pub(crate) fn sync_log(&self) -> Result<(), Error> {
        self.files().sync_log(&self.meters)
    }

    fn lock_failure(&self) -> MutexGuard<'_, Option<Arc<Failure>>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_retired(&self) -> MutexGuard<'_, Option<(Arc<Files>, Time)>> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
