//! Data directories, as commands name them.

use std::path::Path;
use std::sync::Arc;

use keyloom_store::{Engine, Options};

/// What is done with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is only read: not a byte in the directory is changed.
    Read,
    /// It is also changed.
    Change,
    /// It is changed, and created if there is none.
    Create,
}

/// Opens the store in a directory.
///
/// # Errors
///
/// If there is none and it is not to be created, or it cannot be opened.
pub fn open(directory: &Path, used: Use) -> Result<Arc<Engine>, String> {
    // A command compacts only if that is what it is for.
    let compact_from_bytes = u64::MAX;
    let read_only = used == Use::Read;
    let options = Options { read_only, compact_from_bytes, ..Options::default() };
    let opened = match used {
        Use::Read | Use::Change => Engine::open_existing(directory, options),
        Use::Create => Engine::open(directory, options),
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

/// Writes everything to disk. If the store is still in use elsewhere, it stays open.
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
