//! Why a module could not be generated.

use std::fmt;
use std::path::PathBuf;

/// Why a module could not be generated. Both `Display` and `Debug` are text for people, because Cargo shows
/// what `main` of a `build.rs` returns by `Debug`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model has errors. The text has each of them, with its position.
    #[error("{0}")]
    Model(String),
    /// A file cannot be read or written.
    #[error("`{}` cannot be {done}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried: `read` or `written`.
        done: &'static str,
        /// Why not.
        error: std::io::Error,
    },
    /// There is no folder for generated files.
    #[error("OUT_DIR is not set: call this from a `build.rs`, or set `Builder::out_dir`.")]
    NoOutDir,
    /// The name of a module is none in Rust.
    #[error("`{name}` cannot be the name of a module: set another one with `Builder::module`.")]
    ModuleName {
        /// The name.
        name: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
