//! The disk as a parameter: the file system operations that the engine needs.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file system.
///
/// Implementors MUST make a file's bytes durable before `DiskFile::sync` returns, and the names in
/// a directory before `sync_directory` returns. Before that, any subset of the written sectors and
/// changed names may survive a crash. A failed sync guarantees nothing about earlier writes, not
/// even if a retry succeeds.
pub trait Disk: Send + Sync + fmt::Debug + 'static {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>>;
    /// Lists everything in a directory, files and directories, sorted by name. A name that is not
    /// Unicode is listed with replacement characters: it must not go unnoticed.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;
    /// Creates a directory and its parents, durably; succeeds if it exists.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Renames a file within its directory, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
    /// Locks the directory itself, so that no change to the files in it can release the lock;
    /// returns `None` if it is already locked. Dropping the box, or the end of the process,
    /// releases it.
    fn lock(&self, directory: &Path) -> io::Result<Option<Box<dyn Send + Sync>>>;
    /// Returns how many bytes this process can still write to the directory's file system; `None`
    /// if unknown.
    fn free_bytes(&self, _directory: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }
    /// Returns the total size of the directory's file system in bytes; `None` if unknown.
    fn total_bytes(&self, _directory: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// For reading only; it must exist.
    Read,
    /// For reading and writing; it must exist.
    ReadWrite,
    /// As a new file; it must not exist.
    Create,
}

/// An open file. All methods can be called from many threads.
#[expect(clippy::len_without_is_empty, reason = "a length that can fail is no collection's")]
pub trait DiskFile: Send + Sync + fmt::Debug {
    /// Returns its length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Returns how much disk space it takes: less than its length if parts were never written.
    fn allocated_bytes(&self) -> io::Result<u64> {
        self.len()
    }
    /// Fills the buffer from an offset on; `UnexpectedEof` if the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all bytes at the offset, extending the file if needed, with zeros in a gap. After an
    /// error, any part of them may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Truncates the file or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes everything written durable.
    fn sync(&self) -> io::Result<()>;
    /// Whether a path still refers to this file. It does not once the file or a parent directory
    /// was moved, removed or replaced.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}
