//! Saying what went wrong with a file.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::{Damage, DiskFile, Error, Failure};

use super::format::Malformed;

/// Turns what the system said into an error that says what was being done, and where.
pub(super) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |cause| Error::Io(Arc::new(Failure { doing, path: path.to_owned(), cause }))
}

/// An error if a path no longer leads to an open file.
pub(super) fn check_in_place(file: &dyn DiskFile, path: &Path) -> Result<(), Error> {
    if file.is_at(path).map_err(io_error("looking for an open file", path))? {
        return Ok(());
    }
    let cause = "the file was moved, removed or replaced while it was in use";
    Err(io_error("writing", path)(std::io::Error::new(std::io::ErrorKind::NotFound, cause)))
}

/// Bytes that are not what was written.
pub(super) fn damaged(file: &Path, offset: u64, what: &str) -> Error {
    Error::Damaged(Arc::new(Damage { file: file.to_owned(), offset, what: what.to_owned() }))
}

/// A row of the tree that no writer wrote.
pub(super) fn malformed_row(tree: &Path, why: Malformed) -> Error {
    damaged(tree, 0, &format!("a row is not what was written: {why}"))
}

/// An error if whoever was told of the progress does not want it to go on.
pub(super) fn go_on(told: ControlFlow<()>) -> Result<(), Error> {
    match told {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped),
    }
}
