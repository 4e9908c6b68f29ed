//! A disk in memory with the faults of real disks: on a power failure it loses, tears and reorders
//! what was not synced; it fails syncs and writes, and fills up. Deterministic: the same seed and
//! the same calls give the same bytes.

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
/// It assumes only this of a medium: a sector of 512 bytes is written atomically; a rename is
/// atomic; a successful sync is durable. Reads see every write at once. Before a sync
///
/// - of a file, a crash keeps none, all, a prefix of its writes with the last of them torn, or any
///   sectors of any of them, and likewise its length; holes read as zeros;
/// - of a directory, a crash keeps none, all, a prefix, or any of the changes of its names, those
///   of one name in order. A synced file without a name is lost.
///
/// The directories `""` and `/` always exist. Creating a directory counts as a sync, and is
/// durable.
///
/// Cost: memory is twice the files plus what is not synced; an operation costs what it writes, a
/// crash a copy of the disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl SimDisk {
    /// Creates an empty disk; the seed decides what injected faults destroy.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(State::new(seed))) }
    }

    /// Cuts the power at the `k`-th sync from now, of a file or a directory: it does not happen,
    /// and it and every later operation returns an error. `k` counts from 1.
    pub fn crash_at_sync(&self, k: u64) {
        let mut state = self.state();
        state.crash_at_sync = Some(state.syncs + at_least_one(k));
    }

    /// Cuts the power now.
    pub fn crash_now(&self) {
        self.state().power = Power::Off;
    }

    /// Whether the power is off.
    pub fn crashed(&self) -> bool {
        self.state().power == Power::Off
    }

    /// Returns a new disk with what survived, depending on the seed; no faults, no locks. While the
    /// power is on, it has what would survive if the power were cut now, and this disk continues.
    pub fn after_crash(&self, seed: u64) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(self.state().after_crash(seed))) }
    }

    /// Returns how many syncs of files and directories were requested.
    pub fn sync_count(&self) -> u64 {
        self.state().syncs
    }

    /// Returns how many changes of a file's bytes or length were requested.
    pub fn write_count(&self) -> u64 {
        self.state().writes
    }

    /// Fails the `k`-th sync from now, counted from 1. What it should have made durable is then
    /// partly lost for good, though reads still see it: later syncs succeed and do not bring it
    /// back. Linux does that.
    pub fn fail_sync_at(&self, k: u64) {
        let mut state = self.state();
        state.fail_sync_at = Some(state.syncs + at_least_one(k));
    }

    /// Takes back [`SimDisk::fail_sync_at`], if that sync is still to come.
    pub fn fail_no_sync(&self) {
        self.state().fail_sync_at = None;
    }

    /// Fails the `k`-th write or change of a length from now, counted from 1. A prefix of the write
    /// may be written.
    pub fn fail_writes_at(&self, k: u64) {
        let mut state = self.state();
        state.fail_write_at = Some(state.writes + at_least_one(k));
    }

    /// Sets whether reads of files fail.
    pub fn set_unreadable(&self, unreadable: bool) {
        self.state().unreadable = unreadable;
    }

    /// Limits the size of all files together: what needs more fails with `StorageFull`, and a
    /// prefix of a write may be written.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity_bytes = Some(bytes);
    }

    /// Sets the error number when there is no more space: a full disk, or an exceeded quota.
    pub fn set_full_error(&self, raw_os_error: i32) {
        self.state().full_error = Some(raw_os_error);
    }

    /// Sets the space that the file system reports. It need not be true.
    pub fn set_space(&self, free_bytes: u64, total_bytes: u64) {
        self.state().space = Some((free_bytes, total_bytes));
    }

    /// Sets whether everything that changes something fails with `ReadOnlyFilesystem`. Locks still
    /// work.
    pub fn set_read_only(&self, read_only: bool) {
        self.state().read_only = read_only;
    }

    /// Corrupts the bytes of a file from an offset on. What was written before becomes durable: the
    /// damage is on the medium. Panics if there is no such file or offset.
    pub fn corrupt(&self, path: impl AsRef<Path>, offset: u64, damage: impl FnOnce(&mut [u8])) {
        let inode = self.inode(path.as_ref()).expect("there is a file to damage");
        let offset = usize::try_from(offset).expect("an offset in a file in memory");
        inode.content().damage(damage, offset);
    }

    /// Returns what a reader of the file would see, even without power.
    pub fn file_bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        Some(self.inode(path.as_ref())?.content().live().to_vec())
    }

    /// Returns every file, sorted, even without power.
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
            return Err(error(
                ErrorKind::CrossesDevices,
                "a file can only be renamed within its directory",
            ));
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
        return Err(error(ErrorKind::AlreadyExists, "the file already exists"));
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

/// A held lock; released on drop.
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
                Err(error(ErrorKind::PermissionDenied, "the file was opened for reading only"))
            }
            OpenMode::ReadWrite | OpenMode::Create => Ok(()),
        }
    }

    /// Writes a prefix of a failing write, half of the time.
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
            // An empty read succeeds anywhere, as on a real disk.
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
