//! A disk in memory that does what real disks do wrong: it loses, tears and reorders what was not
//! synced when the power goes, fails syncs and writes, and fills up. Deterministic: the same seed
//! and the same calls give the same bytes. It refuses to be fast at the price of being kind.

mod content;
mod names;
mod state;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use keyloom_store::{Disk, DiskFile, OpenMode};

use content::Content;
use names::Inode;
use state::{Fate, Power, State, error, file_len, split};

/// A simulated disk; a clone is another handle to the same one.
///
/// What it assumes of a medium, and nothing more: a sector of 512 bytes is written whole or not at
/// all; a rename is one step; a sync that succeeded keeps its promise. Reads see every write at
/// once. Before a sync
///
/// - of a file, a crash keeps none, all, the first of its writes with the last of them torn, or any
///   sectors of any of them, and the same of its length; holes read as zeros;
/// - of a directory, a crash keeps none, all, the first, or any of the changes of its names, those
///   of one name in order. A synced file without a name is gone.
///
/// The directories `""` and `/` always exist. A directory survives once it is made; making one
/// counts as a sync.
///
/// Cost: memory is twice the files plus what is not synced; an operation costs what it writes, a
/// crash a copy of the disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl SimDisk {
    /// An empty disk; the seed decides what injected faults destroy.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(State::new(seed))) }
    }

    /// The power goes at the `k`-th sync from now, of a file or a directory: it does not happen,
    /// and it and every later operation returns an error. `k` counts from 1.
    pub fn crash_at_sync(&self, k: u64) {
        let mut state = self.state();
        state.crash_at_sync = Some(state.syncs + at_least_one(k));
    }

    /// The power goes now.
    pub fn crash_now(&self) {
        self.state().power = Power::Off;
    }

    /// Whether the power is gone.
    pub fn crashed(&self) -> bool {
        self.state().power == Power::Off
    }

    /// A new disk with what survived, as this seed has it; no faults, no locks. While the power is
    /// on, this is what would survive if it went now, and this disk goes on.
    pub fn after_crash(&self, seed: u64) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(self.state().after_crash(seed))) }
    }

    /// How many syncs of files and directories were asked for.
    pub fn sync_count(&self) -> u64 {
        self.state().syncs
    }

    /// How many changes of a file's bytes or length were asked for.
    pub fn write_count(&self) -> u64 {
        self.state().writes
    }

    /// The `k`-th sync from now, counted from 1, returns an error. What it should have made durable
    /// is then partly lost for good, though reads go on seeing it: later syncs succeed and do not
    /// bring it back. That is what Linux does.
    pub fn fail_sync_at(&self, k: u64) {
        let mut state = self.state();
        state.fail_sync_at = Some(state.syncs + at_least_one(k));
    }

    /// The `k`-th write or change of a length from now, counted from 1, returns an error. The first
    /// bytes of the write may be there.
    pub fn fail_writes_at(&self, k: u64) {
        let mut state = self.state();
        state.fail_write_at = Some(state.writes + at_least_one(k));
    }

    /// Whether reads of files return an error.
    pub fn set_unreadable(&self, unreadable: bool) {
        self.state().unreadable = unreadable;
    }

    /// All files together cannot have more bytes than this: what would need more returns
    /// `StorageFull`, and the first bytes of a write may be there.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity_bytes = Some(bytes);
    }

    /// What the system says where there is no more room, as an error number: that the disk is full, or
    /// that a quota is used up.
    pub fn set_full_error(&self, raw_os_error: i32) {
        self.state().full_error = Some(raw_os_error);
    }

    /// What the file system says it has room for. It need not be true.
    pub fn set_space(&self, free_bytes: u64, total_bytes: u64) {
        self.state().space = Some((free_bytes, total_bytes));
    }

    /// Whether everything that changes something returns `ReadOnlyFilesystem`. Locks can be taken.
    pub fn set_read_only(&self, read_only: bool) {
        self.state().read_only = read_only;
    }

    /// Changes the bytes of a file from an offset on behind everybody's back. What was written
    /// before is durable then: damage is of what is on the medium. Panics if there is no such file
    /// or offset.
    pub fn corrupt(&self, path: impl AsRef<Path>, offset: u64, damage: impl FnOnce(&mut [u8])) {
        let inode = self.inode(path.as_ref()).expect("there is a file to damage");
        let offset = usize::try_from(offset).expect("an offset in a file in memory");
        inode.content().damage(damage, offset);
    }

    /// What a reader of the file would see, also when the power is gone.
    pub fn file_bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        Some(self.inode(path.as_ref())?.content().live().to_vec())
    }

    /// Every file there is, in order, also when the power is gone.
    pub fn files(&self) -> Vec<PathBuf> {
        let state = self.state();
        let directories = state.directories.iter();
        directories.flat_map(|(path, names)| names.live().keys().map(|n| path.join(n))).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no operation of the simulated disk panics")
    }

    fn inode(&self, path: &Path) -> Option<Arc<Inode>> {
        let (directory, name) = split(path).ok()?;
        self.state().directories.get(directory)?.live().get(name).cloned()
    }
}

fn at_least_one(k: u64) -> u64 {
    assert!(k > 0, "syncs and writes are counted from 1");
    k
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        let inode = match mode {
            OpenMode::Read => state.find(path)?,
            OpenMode::ReadWrite => {
                let inode = state.find(path)?;
                state.check_writable()?;
                inode
            }
            OpenMode::Create => create(&mut state, path)?,
        };
        Ok(Arc::new(SimFile { disk: self.clone(), inode, mode }))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let mut state = self.state();
        let mut names: Vec<String> = state.names(directory)?.live().keys().cloned().collect();
        let inside = state.directories.keys().filter(|path| path.parent() == Some(directory));
        let inside = inside.filter_map(|path| path.file_name());
        names.extend(inside.map(|name| name.to_string_lossy().into_owned()));
        names.sort();
        Ok(names)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.check_power()?;
        if state.directories.contains_key(directory) {
            return Ok(());
        }
        state.check_writable()?;
        if state.begin_sync()? == Fate::Fail {
            return Err(failed_sync());
        }
        for path in directory.ancestors() {
            state.directories.entry(path.to_owned()).or_default();
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.find(path)?;
        state.check_writable()?;
        let (directory, name) = split(path)?;
        state.names(directory)?.remove(name);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let inode = state.find(from)?;
        state.check_writable()?;
        let (from_directory, from_name) = split(from)?;
        let (to_directory, to_name) = split(to)?;
        if from_directory != to_directory {
            return Err(error(ErrorKind::CrossesDevices, "a rename stays in its directory"));
        }
        state.names(from_directory)?.rename(from_name, to_name, inode);
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.names(directory)?.is_dirty() {
            state.check_writable()?;
        }
        let fate = state.begin_sync()?;
        let State { random, directories, .. } = &mut *state;
        let names = directories.get_mut(directory).expect("it was there above");
        match fate {
            Fate::Succeed => {
                names.sync();
                Ok(())
            }
            Fate::Fail => {
                names.fail_sync(random);
                Err(failed_sync())
            }
        }
    }

    fn lock(&self, directory: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let mut state = self.state();
        state.names(directory)?;
        if !state.held.insert(directory.to_owned()) {
            return Ok(None);
        }
        Ok(Some(Box::new(SimLock { disk: self.clone(), directory: directory.to_owned() })))
    }

    fn free_bytes(&self, _directory: &Path) -> io::Result<Option<u64>> {
        Ok(self.state().space.map(|(free_bytes, _)| free_bytes))
    }

    fn total_bytes(&self, _directory: &Path) -> io::Result<Option<u64>> {
        Ok(self.state().space.map(|(_, total_bytes)| total_bytes))
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDisk").finish_non_exhaustive()
    }
}

fn create(state: &mut State, path: &Path) -> io::Result<Arc<Inode>> {
    let (directory, name) = split(path)?;
    if state.names(directory)?.live().contains_key(name) {
        return Err(error(ErrorKind::AlreadyExists, "there is a file of this name"));
    }
    state.check_writable()?;
    if state.room_bytes() == 0 {
        return Err(state.full());
    }
    let inode = Inode::new(Content::default());
    state.names(directory)?.create(name, inode.clone());
    Ok(inode)
}

fn failed_sync() -> io::Error {
    io::Error::other("the sync failed")
}

/// A lock in use; gives itself back.
struct SimLock {
    disk: SimDisk,
    directory: PathBuf,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.state().held.remove(&self.directory);
    }
}

struct SimFile {
    disk: SimDisk,
    inode: Arc<Inode>,
    mode: OpenMode,
}

impl SimFile {
    fn check_mode(&self) -> io::Result<()> {
        match self.mode {
            OpenMode::Read => {
                Err(error(ErrorKind::PermissionDenied, "the file was opened to be read only"))
            }
            OpenMode::ReadWrite | OpenMode::Create => Ok(()),
        }
    }

    /// Writes some first bytes of a write that fails, half of the time.
    fn write_partly(&self, state: &mut State, offset: usize, bytes: &[u8]) {
        if state.random.chance(1, 2) {
            let count = state.random.index(bytes.len() + 1);
            self.inode.content().write(offset, &bytes[..count]);
        }
    }
}

impl DiskFile for SimFile {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        match self.disk.state().find(path) {
            Ok(inode) => Ok(Arc::ptr_eq(&inode, &self.inode)),
            Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.disk.state();
        state.check_power()?;
        Ok(self.inode.content().live().len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.disk.state();
        state.check_power()?;
        if state.unreadable {
            return Err(io::Error::other("the read failed"));
        }
        let content = self.inode.content();
        let tail = usize::try_from(offset).ok().and_then(|offset| content.live().get(offset..));
        match tail.and_then(|tail| tail.get(..buffer.len())) {
            Some(bytes) => buffer.copy_from_slice(bytes),
            // Nothing can be read anywhere, as on a real disk.
            None if buffer.is_empty() => {}
            None => return Err(error(ErrorKind::UnexpectedEof, "the file ends before")),
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        let fate = state.begin_write()?;
        self.check_mode()?;
        let end = file_len(offset.checked_add(bytes.len() as u64))?;
        let offset = end - bytes.len();
        if fate == Fate::Fail {
            self.write_partly(&mut state, offset, bytes);
            return Err(io::Error::other("the write failed"));
        }
        let len = self.inode.content().live().len() as u64;
        let end_max = len.saturating_add(state.room_bytes());
        if !bytes.is_empty() && end as u64 > end_max {
            let fits = usize::try_from(end_max).unwrap_or(usize::MAX).saturating_sub(offset);
            self.write_partly(&mut state, offset, &bytes[..fits.min(bytes.len())]);
            return Err(state.full());
        }
        self.inode.content().write(offset, bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let fate = state.begin_write()?;
        self.check_mode()?;
        let new_len = file_len(Some(len))?;
        if fate == Fate::Fail {
            return Err(io::Error::other("the length was not changed"));
        }
        let room_bytes = state.room_bytes();
        let mut content = self.inode.content();
        if len.saturating_sub(content.live().len() as u64) > room_bytes {
            return Err(state.full());
        }
        content.set_len(new_len);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let mut content = self.inode.content();
        if content.is_dirty() {
            state.check_writable()?;
        }
        match state.begin_sync()? {
            Fate::Succeed => {
                content.sync();
                Ok(())
            }
            Fate::Fail => {
                content.fail_sync(&mut state.random);
                Err(failed_sync())
            }
        }
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimFile").field("mode", &self.mode).finish_non_exhaustive()
    }
}
