//! Constructors of errors about files.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::{Damage, DiskFile, Error, Failure};

use super::format::Malformed;

/// Turns an I/O error into an error that says what was being done, and where.
pub(super) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |cause| Error::Io(Arc::new(Failure { doing, path: path.to_owned(), cause }))
}

/// Fails if a path no longer refers to an open file.
pub(super) fn check_in_place(file: &dyn DiskFile, path: &Path) -> Result<(), Error> {
    if file.is_at(path).map_err(io_error("checking the path of an open file", path))? {
        return Ok(());
    }
    let cause = "the file was moved, removed or replaced while it was in use";
    Err(io_error("writing", path)(std::io::Error::new(std::io::ErrorKind::NotFound, cause)))
}

/// Returns the error for bytes that differ from what was written.
pub(super) fn damaged(file: &Path, offset: u64, what: &str) -> Error {
    Error::Damaged(Arc::new(Damage { file: file.to_owned(), offset, what: what.to_owned() }))
}

/// Returns the error for a row of the tree that no writer can have written.
pub(super) fn malformed_row(tree: &Path, why: Malformed) -> Error {
    damaged(tree, 0, &format!("a row differs from what was written: {why}"))
}

/// Fails if a progress callback stops the operation.
pub(super) fn check_continue(flow: ControlFlow<()>) -> Result<(), Error> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped),
    }
}
