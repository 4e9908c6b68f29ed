//! A data directory: which files it has, how one is made, and what says that it is one.
//!
//! ```text
//! format      text: what this is, the version of the format, the number of the store
//! lock        held by the process that has the directory open
//! tree.redb   the tree
//! log/        the log's segments
//! ```
//!
//! The format file comes last, so a directory without one was never finished and holds nothing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twox_hash::XxHash3_64;

use crate::{Disk, DiskFile, Error, OpenMode, Time};

use super::format::{CommitNo, FORMAT_VERSION, FORMAT_VERSION_OLDEST};
use super::io_error;
use super::log::LogDirectory;
use super::tree::Tree;
use super::tree_file::{FlushBy, TreeFile};

const FORMAT: &str = "format";
const FORMAT_UNFINISHED: &str = "format.new";
const LOCK: &str = "lock";
const LOG: &str = "log";
const TREE: &str = "tree.redb";

/// Memory for making a directory.
const MAKING_BYTES: usize = 64 << 20;

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

    /// Takes the directory for this process.
    pub(crate) fn lock(&self) -> Result<Box<dyn Send + Sync>, Error> {
        let made = self.disk.create_directory(&self.path);
        // A directory that cannot be made may be one that can be read.
        let made = made.or_else(|error| self.disk.list(&self.path).map(drop).map_err(|_| error));
        made.map_err(io_error("making the data directory", &self.path))?;
        let path = self.path.join(LOCK);
        let lock = self.disk.lock(&path).map_err(io_error("locking the data directory", &path))?;
        lock.ok_or_else(|| Error::Locked { directory: self.path.clone() })
    }

    /// The number of the store, if the directory holds one.
    pub(crate) fn store(&self) -> Result<Option<u64>, Error> {
        let path = self.path.join(FORMAT);
        let file = match self.disk.open(&path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("opening the format file", &path)(error)),
        };
        let text = read_text(&*file).map_err(io_error("reading the format file", &path))?;
        let versions = FORMAT_VERSION_OLDEST..=FORMAT_VERSION;
        let store = versions.clone().find_map(|version| parse_format(&text, version));
        store.map(Some).ok_or_else(|| Error::Format {
            file: path,
            found: text.escape_debug().to_string(),
            supported: format_text(FORMAT_VERSION, "…"),
        })
    }

    /// Makes a directory of an older version one of today's, before anything is written that the
    /// older version cannot read.
    pub(crate) fn upgrade(&self, store: u64) -> Result<(), Error> {
        let path = self.path.join(FORMAT);
        let file = self.disk.open(&path, OpenMode::Read);
        let text = file.and_then(|file| read_text(&*file));
        let text = text.map_err(io_error("reading the format file", &path))?;
        match parse_format(&text, FORMAT_VERSION) {
            Some(_) => Ok(()),
            None => self.write_format(store),
        }
    }

    /// Makes a store in an empty directory, or in one whose making was interrupted. `fill` writes
    /// the first rows and says which commit they include.
    pub(crate) fn make(
        &self,
        store: u64,
        fill: impl FnOnce(&Tree) -> Result<CommitNo, Error>,
    ) -> Result<(), Error> {
        self.remove_unfinished()?;
        let tree_path = self.tree();
        let file = self.disk.open(&tree_path, OpenMode::Create);
        let file = file.map_err(io_error("making the tree", &tree_path))?;
        let file = TreeFile::new(file, &tree_path, FlushBy::Caller, MAKING_BYTES, None);
        let file = file.map_err(io_error("making the tree", &tree_path))?;
        let tree = Tree::open(file, &tree_path, MAKING_BYTES)?;
        let applied = fill(&tree)?;
        tree.close()?;
        let log = self.log();
        self.disk.create_directory(&log).map_err(io_error("making the log", &log))?;
        let log = LogDirectory::open(Arc::clone(&self.disk), log, store, OpenMode::ReadWrite)?;
        log.add(applied.next())?;
        self.write_format(store)
    }

    fn write_format(&self, store: u64) -> Result<(), Error> {
        let path = self.path.join(FORMAT_UNFINISHED);
        let write = || {
            let file = self.disk.open(&path, OpenMode::Create)?;
            file.write_at(0, format_text(FORMAT_VERSION, &format!("{store:016x}")).as_bytes())?;
            file.sync()?;
            // The format file vouches for the others, so their names are safe before it has its own.
            self.disk.sync_directory(&self.path)?;
            self.disk.rename(&path, &self.path.join(FORMAT))?;
            self.disk.sync_directory(&self.path)
        };
        write().map_err(io_error("writing the format file", &path))
    }

    /// Removes what an interrupted making left; an error if there is anything else.
    fn remove_unfinished(&self) -> Result<(), Error> {
        let ours = [LOCK, TREE, FORMAT_UNFINISHED];
        let names = self.disk.list(&self.path);
        let names = names.map_err(io_error("listing the data directory", &self.path))?;
        if let Some(foreign) = names.iter().find(|name| !ours.contains(&name.as_str())) {
            return Err(Error::Format {
                file: self.path.join(foreign),
                found: "a file of something else".to_owned(),
                supported: "an empty directory, or one that Keyloom made".to_owned(),
            });
        }
        let files = names.iter().filter(|name| *name != LOCK).map(|name| self.path.join(name));
        let log = self.log();
        let segments = match self.disk.list(&log) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => vec![],
            Err(error) => return Err(io_error("listing the log", &log)(error)),
        };
        for path in files.chain(segments.iter().map(|name| log.join(name))) {
            self.disk.remove(&path).map_err(io_error("removing an unfinished file", &path))?;
        }
        Ok(())
    }
}

/// A number for a new store: another for every place and time.
pub(crate) fn new_store(path: &Path, now: Time) -> u64 {
    XxHash3_64::oneshot_with_seed(now.0, path.as_os_str().as_encoded_bytes())
}

fn format_text(version: u32, store: &str) -> String {
    format!("keyloom data directory\nformat {version}\nstore {store}\n")
}

fn parse_format(text: &str, version: u32) -> Option<u64> {
    let head = format_text(version, "");
    let store = text.strip_prefix(head.trim_end_matches('\n'))?.strip_suffix('\n')?;
    if store.len() == 16 { u64::from_str_radix(store, 16).ok() } else { None }
}

fn read_text(file: &dyn DiskFile) -> std::io::Result<String> {
    // A format file has a few lines; whatever is longer is not one.
    let len = file.len()?.min(1024);
    let mut bytes = vec![0; len as usize];
    file.read_at(0, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
