//! The disk as a parameter: what the engine needs of a file system.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A directory tree of files.
///
/// Implementors MUST make a file's bytes survive a crash once `DiskFile::sync` returned, and
/// the names in a directory once `sync_directory` returned. Before that, any subset of sectors
/// written, and of names changed, may survive. A sync that failed promises nothing about what was
/// written before it, not even if it is tried again and succeeds.
pub trait Disk: Send + Sync + fmt::Debug + 'static {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>>;
    /// The names of everything in a directory, files and directories, sorted. A name that is not
    /// Unicode is listed with replacement characters: it must not look as if it were not there.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;
    /// Makes a directory and its parents; fine if it exists. What it made survives a crash once
    /// it returned.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name in the same directory, replacing what was there.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the names in a directory survive a crash.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
    /// Locks a directory itself, so that nothing that happens to the files in it can give the lock
    /// to somebody else; `None` if it is held already, by whomever. It is given back when the box is
    /// dropped, or by the end of the process.
    fn lock(&self, directory: &Path) -> io::Result<Option<Box<dyn Send + Sync>>>;
    /// Bytes that this process could still write to the file system that a directory is on; none if
    /// that cannot be told.
    fn free_bytes(&self, _directory: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }
    /// Bytes that the file system has, used or not; none if that cannot be told.
    fn total_bytes(&self, _directory: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist; it is only read.
    Read,
    /// It must exist.
    ReadWrite,
    /// It must not exist.
    Create,
}

/// An open file. All methods may be called from many threads.
#[expect(clippy::len_without_is_empty, reason = "a length that can fail is no collection's")]
pub trait DiskFile: Send + Sync + fmt::Debug {
    /// How many bytes it has.
    fn len(&self) -> io::Result<u64>;
    /// How many bytes of the disk it takes: fewer than it has where nothing was ever written.
    fn allocated_bytes(&self) -> io::Result<u64> {
        self.len()
    }
    /// Fills the buffer from the offset on; `UnexpectedEof` if the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all bytes at the offset, making the file longer where need be, with zeros in a gap.
    /// After an error any part of them may be there.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes everything written survive a crash.
    fn sync(&self) -> io::Result<()>;
    /// Whether this is still the file that a path leads to. It is not once the file or a directory
    /// above it was moved, removed or replaced.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}
