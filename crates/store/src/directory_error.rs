//! Errors about directories that cannot be opened or created as data directories. Nothing in the
//! directory was changed.

use std::path::{Path, PathBuf};

/// Why a directory cannot be used as a data directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The data directory is open in another process.
    #[error(
        "The data directory {} is open in another process. Stop that process, or use another \
         directory.",
        .directory.display()
    )]
    Locked {
        /// The directory.
        directory: PathBuf,
    },
    /// The data directory has an unsupported format version.
    #[error(
        "Unsupported format: {} contains \"{found}\", and this version reads \"{}\". Nothing was \
         changed. Export the data with the version that wrote it, and import it with this one into \
         a new directory.",
        .file.display(),
        .supported.escape_debug()
    )]
    Format {
        /// The format file.
        file: PathBuf,
        /// Its content.
        found: String,
        /// The supported content.
        supported: String,
    },
    /// The directory is not empty, and nothing proves that it is a data directory.
    #[error(
        "The directory {} is not empty, and it is not a Keyloom data directory that can be used \
         here: it contains `{found}`. Nothing was changed. Choose an empty or new directory.",
        .directory.display()
    )]
    Foreign {
        /// The directory.
        directory: PathBuf,
        /// One of its entries.
        found: String,
    },
    /// The directory has the files of a store, but not the format file.
    #[error("{}", format_missing(.file, .format.as_deref()))]
    FormatMissing {
        /// The missing file.
        file: PathBuf,
        /// Its expected content, if the log reveals it.
        format: Option<String>,
    },
    /// The directory does not contain a store.
    #[error(
        "The directory {} does not contain a Keyloom database. Nothing was changed. Check the \
         path.",
        .directory.display()
    )]
    NoStore {
        /// The directory.
        directory: PathBuf,
    },
}

fn format_missing(file: &Path, format: Option<&str>) -> String {
    let (directory, file) = (file.parent().unwrap_or(file).display(), file.display());
    let content = format
        .map_or_else(String::new, |format| format!("; it contains \"{}\"", format.escape_debug()));
    format!(
        "The directory {directory} has the files of a Keyloom data directory, but {file} is missing. \
         Nothing was changed. Restore the directory from a backup, or restore this file from a copy \
         of it{content}."
    )
}
