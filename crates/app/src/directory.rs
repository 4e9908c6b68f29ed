//! Opening and closing data directories.

use std::path::Path;
use std::sync::Arc;

use keyloom_store::{Engine, Options};

/// How data is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Only for reading: no byte in the directory changes.
    Read,
    /// For reading and writing.
    Write,
    /// For reading and writing; created if it does not exist.
    Create,
}

/// Opens the store in a directory.
///
/// # Errors
///
/// If it does not exist and is not to be created, or it cannot be opened.
pub fn open(directory: &Path, mode: OpenMode) -> Result<Arc<Engine>, String> {
    // Commands do not compact in the background.
    let compact_from_bytes = u64::MAX;
    let read_only = mode == OpenMode::Read;
    let options = Options { read_only, compact_from_bytes, ..Options::default() };
    let opened = match mode {
        OpenMode::Read | OpenMode::Write => Engine::open_existing(directory, options),
        OpenMode::Create => Engine::open(directory, options),
    };
    opened.map(Arc::new).map_err(|error| error.to_string())
}

/// Opens the store in a directory, or creates one.
///
/// # Errors
///
/// If it can be neither opened nor created.
pub fn open_or_create(directory: &Path, options: Options) -> Result<Arc<Engine>, String> {
    Engine::open(directory, options).map(Arc::new).map_err(|error| error.to_string())
}

/// Writes everything to disk and closes the store, unless it is still in use elsewhere.
///
/// # Errors
///
/// If something cannot be written.
pub fn close(engine: Arc<Engine>) -> Result<(), String> {
    match Arc::try_unwrap(engine) {
        Ok(engine) => engine.close(),
        Err(engine) => engine.checkpoint(),
    }
    .map_err(|error| error.to_string())
}
