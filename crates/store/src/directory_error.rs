//! Why a directory cannot be opened, or a store cannot be created in it. Whatever the reason,
//! nothing in the directory was changed.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a directory cannot be used as a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The data directory is open in another process.
    Locked {
        /// The directory.
        directory: PathBuf,
    },
    /// The data directory was written by another version.
    Format {
        /// The file that says so.
        file: PathBuf,
        /// What was found there.
        found: String,
        /// What this version reads.
        supported: String,
    },
    /// The directory is not empty, and nothing proves that it is a data directory.
    Foreign {
        /// The directory.
        directory: PathBuf,
        /// Something in it.
        found: String,
    },
    /// The directory has the files of a store, but not the one that says so.
    FormatMissing {
        /// The file that is missing.
        file: PathBuf,
        /// What it held, if the log tells.
        format: Option<String>,
    },
    /// The directory holds no store.
    NoStore {
        /// The directory.
        directory: PathBuf,
    },
}

impl std::error::Error for DirectoryError {}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DirectoryError::Locked { directory } => write!(
                f,
                "The data directory {} is open in another process. Stop that process first.",
                directory.display()
            ),
            DirectoryError::Format { file, found, supported } => write!(
                f,
                "Unsupported format: {} contains \"{found}\", and this version reads \"{}\". Nothing was \
                 changed. Export the data with the version that wrote it, and import it with this one into \
                 a new directory.",
                file.display(),
                supported.escape_debug()
            ),
            DirectoryError::Foreign { directory, found } => write!(
                f,
                "The directory {} is not empty, and it is not a Keyloom data directory that can be used \
                 here: it contains `{found}`. Nothing was changed. Choose an empty or new directory.",
                directory.display()
            ),
            DirectoryError::FormatMissing { file, format } => {
                format_missing(f, file, format.as_deref())
            }
            DirectoryError::NoStore { directory } => write!(
                f,
                "The directory {} does not contain a Keyloom database. Nothing was changed. Check the \
                 path.",
                directory.display()
            ),
        }
    }
}

fn format_missing(f: &mut fmt::Formatter<'_>, file: &Path, format: Option<&str>) -> fmt::Result {
    let (directory, file) = (file.parent().unwrap_or(file).display(), file.display());
    write!(
        f,
        "The directory {directory} has the files of a Keyloom data directory, but {file} is missing. \
         Nothing was changed. Restore the directory from a backup, or restore this file from a copy \
         of it"
    )?;
    match format {
        Some(format) => write!(f, "; it contains \"{}\".", format.escape_debug()),
        None => write!(f, "."),
    }
}
