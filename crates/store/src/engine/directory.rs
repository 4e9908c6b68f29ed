//! A data directory: its files, how one is created, and what proves that it is ours.
//!
//! ```text
//! format               text: what this is, the format version, the store's id, and the id of its
//!                      history if that differs
//! tree.redb            the tree
//! tree.new             only while a replacement tree is being built
//! log/                 the log's segments
//! socket               only while a server has it open: belongs to the server, not to the engine
//! keyloom-unfinished   only while the directory is being created: the store's id
//! ```
//!
//! Creating a store writes the unfinished file first and the format file last. So a directory with
//! the first and without the second holds no data and can be cleared; any other directory without a
//! format file is not ours, or has lost a file, and is never touched.
//!
//! A new tree gets the name of the old one when it is complete and on disk. A crash before that
//! leaves a `tree.new`, which the next open removes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twox_hash::XxHash3_64;

use crate::{DirectoryError, Disk, DiskFile, Error, OpenMode, Time};

use super::format::{CommitNo, History, Identity, Unfinished};
use super::io_error;
use super::log::LogDirectory;
use super::tree::Tree;
use super::tree_file::{FlushBy, TreeFile};

const FORMAT: &str = "format";
const FORMAT_NEW: &str = "format.new";
const UNFINISHED: &str = "keyloom-unfinished";
const LOCK: &str = "lock";
const LOG: &str = "log";
const TREE: &str = "tree.redb";
const TREE_NEW: &str = "tree.new";

/// Memory for creating a directory.
const MAKING_BYTES: usize = 64 << 20;

/// What a directory holds, as far as can be determined without writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Nothing, or it does not exist: a store can be created here.
    Empty,
    /// A store whose creation was interrupted. It holds no data.
    Unfinished,
    /// The store with this id.
    Store(u64),
}

/// The ids of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreIds {
    /// Marks its files.
    pub(crate) store: u64,
    /// Distinguishes its commits from those of a copy.
    pub(crate) history: u64,
}

/// The paths in a data directory.
#[derive(Clone, Debug)]
pub(crate) struct DataDirectory {
    pub(crate) path: PathBuf,
    pub(crate) disk: Arc<dyn Disk>,
}

impl DataDirectory {
    pub(crate) fn new(disk: Arc<dyn Disk>, path: &Path) -> DataDirectory {
        DataDirectory { path: path.to_owned(), disk }
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.path.join(TREE)
    }

    /// The path of a tree that is being built to replace the current one.
    pub(crate) fn new_tree(&self) -> PathBuf {
        self.path.join(TREE_NEW)
    }

    /// Creates the file of a replacement tree.
    pub(crate) fn create_new_tree(&self) -> Result<Arc<dyn DiskFile>, Error> {
        self.remove_new_tree()?;
        let path = self.new_tree();
        let file = self.disk.open(&path, OpenMode::Create);
        file.map_err(io_error("creating a new tree", &path))
    }

    /// Removes an unfinished replacement tree.
    pub(crate) fn remove_new_tree(&self) -> Result<(), Error> {
        let path = self.new_tree();
        match self.disk.remove(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(io_error("removing an unfinished tree", &path)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Renames the replacement tree to the tree. Not durable until the directory is synced.
    pub(crate) fn install_new_tree(&self) -> Result<(), Error> {
        let renamed = self.disk.rename(&self.new_tree(), &self.tree());
        renamed.map_err(io_error("installing a new tree", &self.new_tree()))
    }

    /// Makes the file names in the directory durable.
    pub(crate) fn sync_own_names(&self) -> Result<(), Error> {
        self.sync_names(&self.path)
    }

    /// Removes what an earlier process left unfinished, and makes its renames durable: it may have
    /// ended before it synced them.
    pub(crate) fn complete_renames(&self) -> Result<(), Error> {
        self.remove_mark()?;
        self.remove_new_tree()?;
        self.sync_own_names()
    }

    /// Locks the directory for this process, creating it if needed, and returns what it holds. A
    /// directory that is not ours is refused before anything is written to it.
    pub(crate) fn lock(&self) -> Result<(Box<dyn Send + Sync>, Contents), Error> {
        self.contents()?;
        let made = self.disk.create_directory(&self.path);
        // A directory that cannot be created may exist on a read-only file system.
        let made = made.or_else(|error| self.disk.list(&self.path).map(drop).map_err(|_| error));
        made.map_err(io_error("creating the data directory", &self.path))?;
        let lock = self.disk.lock(&self.path);
        let lock = lock.map_err(io_error("locking the data directory", &self.path))?;
        let lock = lock.ok_or_else(|| DirectoryError::Locked { directory: self.path.clone() })?;
        // Another process may have created a store since.
        Ok((lock, self.contents()?))
    }

    /// Returns what the directory holds. Fails if it is neither empty nor provably ours.
    pub(crate) fn contents(&self) -> Result<Contents, Error> {
        let names = match self.disk.list(&self.path) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Contents::Empty),
            Err(error) => return Err(io_error("listing the data directory", &self.path)(error)),
        };
        if names.iter().any(|name| name == FORMAT) {
            return Ok(Contents::Store(self.identity()?.store));
        }
        let mut others: Vec<&str> = names.iter().map(String::as_str).collect();
        // On Windows, this file is what is locked, and may exist before anything else.
        if others.contains(&LOCK) && self.is_empty_file(LOCK)? {
            others.retain(|name| *name != LOCK);
        }
        if others.is_empty() {
            return Ok(Contents::Empty);
        }
        match self.is_unfinished(&others)? {
            true => Ok(Contents::Unfinished),
            false => Err(self.not_ours(&others).into()),
        }
    }

    /// Returns the id of a store's history.
    pub(crate) fn history(&self) -> Result<History, Error> {
        Ok(self.identity()?.history)
    }

    /// Gives a backup that is about to be written a history of its own.
    pub(crate) fn begin_history(&self, number: u64) -> Result<(), Error> {
        let identity = self.identity()?;
        match identity.history {
            History::Ended => {
                self.write_format(Identity { history: History::Id(number), ..identity })
            }
            History::Id(_) => Ok(()),
        }
    }

    /// Reads the format file.
    fn identity(&self) -> Result<Identity, Error> {
        let text = self.text(FORMAT)?;
        let unknown = || DirectoryError::Format {
            file: self.path.join(FORMAT),
            found: text.escape_debug().to_string(),
            supported: Identity::example(),
        };
        Ok(Identity::decode(&text).ok_or_else(unknown)?)
    }

    /// Whether the creation of a store was interrupted here: the mark exists, and everything else
    /// is what creating that store writes.
    fn is_unfinished(&self, names: &[&str]) -> Result<bool, Error> {
        if !names.contains(&UNFINISHED) {
            return Ok(false);
        }
        let text = self.text(UNFINISHED)?;
        let Some(Unfinished { store }) = Unfinished::decode(&text) else {
            // Its name can survive a crash that its content does not; then nothing came after it.
            return Ok(names.len() == 1 && text.bytes().all(|byte| byte == 0));
        };
        let ours = [UNFINISHED, FORMAT_NEW, TREE, LOG];
        let is_ours = names.iter().all(|name| ours.contains(name));
        Ok(is_ours && LogDirectory::is_unused(&self.disk, &self.log(), store)?)
    }

    fn not_ours(&self, names: &[&str]) -> DirectoryError {
        let directory = self.path.clone();
        if !names.contains(&TREE) || !names.contains(&LOG) {
            let found = names.iter().find(|name| **name != LOG).or(names.first());
            let found = found.copied().unwrap_or_default().to_owned();
            return DirectoryError::Foreign { directory, found };
        }
        let store = LogDirectory::store_of(&self.disk, &self.log());
        // Whether it was a backup is unknown: with a history of its own, no earlier feed position
        // is mistaken for one of this store.
        let format = store.map(|store| {
            let history = History::Id(new_store_id(&self.path, Time(store)));
            Identity { store, history }.encode()
        });
        DirectoryError::FormatMissing { file: directory.join(FORMAT), format }
    }

    fn is_empty_file(&self, name: &str) -> Result<bool, Error> {
        let path = self.path.join(name);
        let len = self.disk.open(&path, OpenMode::Read).and_then(|file| file.len());
        Ok(len.map_err(io_error("opening a file of the data directory", &path))? == 0)
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, Error> {
        let path = self.path.join(name);
        let text = self.disk.open(&path, OpenMode::Read).and_then(|file| read_text(&*file));
        text.map_err(io_error("reading a file of the data directory", &path))
    }

    /// Creates a store in a directory that is empty, or whose creation was interrupted. `fill`
    /// writes the first rows and returns the commit that they include.
    pub(crate) fn create(
        &self,
        contents: Contents,
        identity: Identity,
        fill: impl FnOnce(&Tree) -> Result<CommitNo, Error>,
    ) -> Result<(), Error> {
        match contents {
            Contents::Empty => {}
            Contents::Unfinished => self.clear_unfinished()?,
            Contents::Store(_) => {
                let (directory, found) = (self.path.clone(), FORMAT.to_owned());
                return Err(DirectoryError::Foreign { directory, found }.into());
            }
        }
        let created = self.write_store(identity, fill);
        if created.is_err() {
            // What cannot be removed stays marked as unfinished, and is cleared the next time.
            let _ = self.clear_unfinished();
        }
        created
    }

    fn write_store(
        &self,
        identity: Identity,
        fill: impl FnOnce(&Tree) -> Result<CommitNo, Error>,
    ) -> Result<(), Error> {
        let store = identity.store;
        self.write_text(UNFINISHED, &Unfinished { store }.encode())?;
        let applied = self.write_tree(&self.tree(), store, fill)?;
        let log = self.log();
        self.disk.create_directory(&log).map_err(io_error("creating the log", &log))?;
        let log = LogDirectory::open(Arc::clone(&self.disk), log, store, OpenMode::ReadWrite)?;
        log.add(applied.next())?;
        self.write_format(identity)?;
        self.remove_mark()
    }

    /// Writes a new tree and syncs it. Its name is not durable yet.
    pub(crate) fn write_tree<T>(
        &self,
        path: &Path,
        store: u64,
        fill: impl FnOnce(&Tree) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let file = self.disk.open(path, OpenMode::Create);
        let file = file.map_err(io_error("creating the tree", path))?;
        let file = TreeFile::new(file, (path, store), FlushBy::Caller, MAKING_BYTES, None)?;
        let tree = Tree::open(file, MAKING_BYTES)?;
        let filled = fill(&tree)?;
        tree.close()?;
        Ok(filled)
    }

    /// Writes a new tree beside the current one and replaces it with one rename: after a power
    /// failure at any time, one of the two is there, complete.
    pub(crate) fn replace_tree<T>(
        &self,
        store: u64,
        fill: impl FnOnce(&Tree) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.remove_new_tree()?;
        let written = self.write_tree(&self.new_tree(), store, fill);
        let filled = written.inspect_err(|_| {
            // What cannot be removed now is removed when the store is opened.
            let _ = self.remove_new_tree();
        })?;
        self.install_new_tree()?;
        self.sync_own_names()?;
        Ok(filled)
    }

    fn write_format(&self, identity: Identity) -> Result<(), Error> {
        let _ = self.disk.remove(&self.path.join(FORMAT_NEW));
        // The format file vouches for the others, so their names become durable before its own.
        self.write_text(FORMAT_NEW, &identity.encode())?;
        let path = self.path.join(FORMAT);
        let renamed = self.disk.rename(&self.path.join(FORMAT_NEW), &path);
        let renamed = renamed.and_then(|()| self.disk.sync_directory(&self.path));
        renamed.map_err(io_error("writing the format file", &path))
    }

    /// Writes a new file, and makes it and all names in the directory durable.
    pub(crate) fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        let write = || {
            let file = self.disk.open(&path, OpenMode::Create)?;
            file.write_at(0, text.as_bytes())?;
            file.sync()?;
            self.disk.sync_directory(&self.path)
        };
        write().map_err(io_error("writing a file of the data directory", &path))
    }

    /// Removes what an interrupted creation left, its mark last.
    fn clear_unfinished(&self) -> Result<(), Error> {
        let log = self.log();
        let segments = match self.disk.list(&log) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => vec![],
            Err(error) => return Err(io_error("listing the log", &log)(error)),
        };
        let segments = segments.iter().map(|name| log.join(name));
        for path in segments.chain([self.tree(), self.path.join(FORMAT_NEW)]) {
            match self.disk.remove(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(io_error("removing an unfinished file", &path)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        self.sync_names(&log)?;
        self.sync_names(&self.path)?;
        self.remove_mark()
    }

    /// Removes the mark of a creation that is complete, or that left nothing else.
    pub(crate) fn remove_mark(&self) -> Result<(), Error> {
        let path = self.path.join(UNFINISHED);
        match self.disk.remove(&path) {
            Ok(()) => self.sync_names(&self.path),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io_error("removing an unfinished file", &path)(error)),
        }
    }

    fn sync_names(&self, directory: &Path) -> Result<(), Error> {
        match self.disk.sync_directory(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            synced => synced.map_err(io_error("syncing a directory", directory)),
        }
    }
}

/// Returns an id for a new store: different for every path and time.
pub(crate) fn new_store_id(path: &Path, now: Time) -> u64 {
    XxHash3_64::oneshot_with_seed(now.0, path.as_os_str().as_encoded_bytes())
}

fn read_text(file: &dyn DiskFile) -> std::io::Result<String> {
    // A format file has a few lines; anything longer is not one.
    let len = file.len()?.min(1024);
    let mut bytes = vec![0; len as usize];
    file.read_at(0, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
