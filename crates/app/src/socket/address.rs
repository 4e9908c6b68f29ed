//! The address of the socket of a data directory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const NAME: &str = "socket";
/// Maximum length of a socket address that every system supports.
const BYTES_MAX: usize = 100;

/// The address of a socket.
pub(super) struct Address {
    /// The path to pass to the system.
    pub(super) path: PathBuf,
    /// Kept open for a path through it.
    _directory: Option<File>,
}

/// The path of the socket file.
pub(super) fn file(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// The address of the socket. A path that is too long for an address is replaced by one through the open
/// directory.
pub(super) fn address(directory: &Path) -> io::Result<Address> {
    let path = file(directory);
    if path.as_os_str().len() <= BYTES_MAX {
        return Ok(Address { path, _directory: None });
    }
    let opened = File::open(directory)?;
    let path = Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string()).join(NAME);
    Ok(Address { path, _directory: Some(opened) })
}
