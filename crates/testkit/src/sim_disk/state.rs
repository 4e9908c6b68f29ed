//! The state of a simulated disk, and the checks before every operation: is the power on, is it
//! writable, is this the sync or write that a test wants to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::names::{Inode, NameMap, Names};
use crate::Random;

/// Maximum length of a file: a length read from damaged bytes must not exhaust the memory.
const FILE_BYTES_MAX: u64 = 4 << 30;

pub(super) struct State {
    pub(super) random: Random,
    pub(super) directories: BTreeMap<PathBuf, Names>,
    pub(super) power: Power,
    pub(super) read_only: bool,
    pub(super) unreadable: bool,
    pub(super) capacity_bytes: Option<u64>,
    pub(super) full_error: Option<i32>,
    /// Free and total bytes that the file system reports.
    pub(super) space: Option<(u64, u64)>,
    pub(super) syncs: u64,
    pub(super) writes: u64,
    /// These three hold the number of the sync or write that fails.
    pub(super) crash_at_sync: Option<u64>,
    pub(super) fail_sync_at: Option<u64>,
    pub(super) fail_write_at: Option<u64>,
    /// The locked directories.
    pub(super) held: BTreeSet<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    On,
    Off,
}

/// The outcome of a counted operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Succeed,
    Fail,
}

impl State {
    pub(super) fn new(seed: u64) -> State {
        let roots = ["", "/"].map(|root| (PathBuf::from(root), Names::default()));
        State {
            random: Random::new(seed),
            directories: BTreeMap::from(roots),
            power: Power::On,
            read_only: false,
            unreadable: false,
            capacity_bytes: None,
            full_error: None,
            space: None,
            syncs: 0,
            writes: 0,
            crash_at_sync: None,
            fail_sync_at: None,
            fail_write_at: None,
            held: BTreeSet::new(),
        }
    }

    /// Returns what a crash at this point leaves: directories, names and bytes, and nothing else.
    pub(super) fn after_crash(&self, seed: u64) -> State {
        let mut survivor = State::new(seed);
        for (path, names) in &self.directories {
            let mut kept = NameMap::new();
            for (name, inode) in names.after_crash(&mut survivor.random) {
                let content = inode.content().after_crash(&mut survivor.random);
                kept.insert(name, Inode::new(content));
            }
            survivor.directories.insert(path.clone(), Names::settled(kept));
        }
        survivor
    }

    pub(super) fn check_power(&self) -> io::Result<()> {
        match self.power {
            Power::On => Ok(()),
            Power::Off => Err(io::Error::other("the power is gone")),
        }
    }

    pub(super) fn check_writable(&self) -> io::Result<()> {
        self.check_power()?;
        if self.read_only {
            return Err(error(ErrorKind::ReadOnlyFilesystem, "the disk is read-only"));
        }
        Ok(())
    }

    /// Counts a sync, which may be the one at which the power is cut.
    pub(super) fn begin_sync(&mut self) -> io::Result<Fate> {
        self.check_power()?;
        self.syncs += 1;
        if self.crash_at_sync == Some(self.syncs) {
            self.power = Power::Off;
            self.check_power()?;
        }
        Ok(if self.fail_sync_at == Some(self.syncs) { Fate::Fail } else { Fate::Succeed })
    }

    /// Counts a change of a file's bytes or length.
    pub(super) fn begin_write(&mut self) -> io::Result<Fate> {
        self.check_writable()?;
        self.writes += 1;
        Ok(if self.fail_write_at == Some(self.writes) { Fate::Fail } else { Fate::Succeed })
    }

    /// Returns how many more bytes all files together may have.
    pub(super) fn room_bytes(&self) -> u64 {
        let Some(capacity) = self.capacity_bytes else { return u64::MAX };
        let inodes = self.directories.values().flat_map(|names| names.live().values());
        let used: u64 = inodes.map(|inode| inode.content().live().len() as u64).sum();
        capacity.saturating_sub(used)
    }

    /// Returns the error for a full disk.
    pub(super) fn full(&self) -> io::Error {
        match self.full_error {
            Some(number) => io::Error::from_raw_os_error(number),
            None => error(ErrorKind::StorageFull, "the disk is full"),
        }
    }

    pub(super) fn names(&mut self, directory: &Path) -> io::Result<&mut Names> {
        self.check_power()?;
        self.directories.get_mut(directory).ok_or_else(|| not_found(directory))
    }

    /// Returns the file at a path.
    pub(super) fn find(&mut self, path: &Path) -> io::Result<Arc<Inode>> {
        let (directory, name) = split(path)?;
        let found = self.names(directory)?.live().get(name).cloned();
        found.ok_or_else(|| not_found(path))
    }
}

/// Splits a path into directory and name.
pub(super) fn split(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    match (path.parent(), name) {
        (Some(directory), Some(name)) => Ok((directory, name)),
        _ => Err(error(ErrorKind::InvalidInput, "the path does not name a file")),
    }
}

/// Converts the end of a file to an index in memory.
pub(super) fn file_len(len: Option<u64>) -> io::Result<usize> {
    let fits = len.filter(|&len| len <= FILE_BYTES_MAX).and_then(|len| usize::try_from(len).ok());
    fits.ok_or_else(|| error(ErrorKind::FileTooLarge, "the file would be too large to simulate"))
}

pub(super) fn error(kind: ErrorKind, what: &'static str) -> io::Error {
    io::Error::new(kind, what)
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("{} not found", path.display()))
}
