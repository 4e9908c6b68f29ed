//! Where the socket of a data directory is.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const NAME: &str = "socket";
/// As long as the address of a socket can be everywhere.
const BYTES_MAX: usize = 100;

/// The address of a socket.
pub(super) struct Address {
    /// What the system takes.
    pub(super) path: PathBuf,
    /// What a path through an open directory needs.
    _directory: Option<File>,
}

/// The name of the file.
pub(super) fn file(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// The address for the file. Paths can be longer than addresses of sockets; then it leads through
/// the open directory.
pub(super) fn address(directory: &Path) -> io::Result<Address> {
    let path = file(directory);
    if path.as_os_str().len() <= BYTES_MAX {
        return Ok(Address { path, _directory: None });
    }
    let opened = File::open(directory)?;
    let path = Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string()).join(NAME);
    Ok(Address { path, _directory: Some(opened) })
}
