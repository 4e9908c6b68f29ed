//! The system's file system as a [`Disk`]. It adds no caching and no retries: errors reach the
//! caller with their kind, because the engine decides what a failed sync means.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, OpenMode};

/// The system's file system.
///
/// A sync is `fdatasync`, which also makes a changed length durable. On Windows, names need no sync
/// of their directory, and there is no call for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => {}
            OpenMode::ReadWrite => {
                options.write(true);
            }
            OpenMode::Create => {
                options.write(true).create_new(true);
                make_private(&mut options);
            }
        }
        Ok(Arc::new(RealFile(options.open(path)?)))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(directory)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        if directory.as_os_str().is_empty() || directory.is_dir() {
            return Ok(());
        }
        let parent = match directory.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        self.create_directory(parent)?;
        match create_private_directory(directory) {
            // Another process created it meanwhile, which is fine if it is a directory.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && directory.is_dir() => {}
            other => other?,
        }
        self.sync_directory(parent)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        sync_directory(directory)
    }

    fn lock(&self, directory: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let file = open_to_lock(directory)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    #[cfg(unix)]
    fn free_bytes(&self, directory: &Path) -> io::Result<Option<u64>> {
        let found = file_system(directory)?;
        // Space reserved for the administrator is not free.
        Ok(Some(found.f_bavail.saturating_mul(found.f_frsize)))
    }

    #[cfg(unix)]
    fn total_bytes(&self, directory: &Path) -> io::Result<Option<u64>> {
        let found = file_system(directory)?;
        Ok(Some(found.f_blocks.saturating_mul(found.f_frsize)))
    }
}

#[cfg(unix)]
fn file_system(directory: &Path) -> io::Result<rustix::fs::StatVfs> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    Ok(rustix::fs::statvfs(directory)?)
}

#[cfg(not(windows))]
fn open_to_lock(directory: &Path) -> io::Result<File> {
    File::open(directory)
}

/// On Windows, directories cannot be opened like files.
#[cfg(windows)]
fn open_to_lock(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).open(directory.join("lock"))
}

/// Restricts access to the current user.
fn make_private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

fn create_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(not(windows))]
fn sync_directory(directory: &Path) -> io::Result<()> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    File::open(directory)?.sync_all()
}

#[cfg(windows)]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(unix)]
    fn allocated_bytes(&self) -> io::Result<u64> {
        // In units of 512 bytes, whatever the block size of the file system.
        Ok(std::os::unix::fs::MetadataExt::blocks(&self.0.metadata()?) * 512)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_exact_at(&self.0, offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_all_at(&self.0, offset, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let there = match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            there => there?,
        };
        Ok(is_same(&self.0.metadata()?, &there))
    }
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// On Windows, an open file can be neither moved nor removed.
#[cfg(windows)]
fn is_same(_one: &fs::Metadata, _other: &fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_all_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = &mut buffer[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_all_at(file: &File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
