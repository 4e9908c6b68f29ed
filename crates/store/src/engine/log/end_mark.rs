//! The end mark: the last acknowledged commit, stored beside the log.
//!
//! It is written after the sync of the log and before the answer, and is not synced itself. So it
//! survives a killed process, and after a power failure it may be older than the log but never
//! newer. A log that ends before it has lost acknowledged commits: this distinguishes damage to the
//! last frame from a torn write.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::format::{Acknowledged, CommitNo};
use crate::engine::{damaged, io_error};
use crate::{Disk, DiskFile, Error, OpenMode};

/// The name of its file in the log's directory.
pub(super) const END: &str = "end";

#[derive(Debug)]
pub(super) struct EndMark {
    path: PathBuf,
    store: u64,
    /// `None` if it cannot be created or the log is read-only.
    file: Option<Arc<dyn DiskFile>>,
    /// The commit in the file when it was opened.
    found: Option<CommitNo>,
}

impl EndMark {
    /// Opens or creates it. A missing, empty or blank file has no commit.
    pub(super) fn open(
        disk: &dyn Disk,
        log: &Path,
        store: u64,
        mode: OpenMode,
    ) -> Result<EndMark, Error> {
        let path = log.join(END);
        let file = match disk.open(&path, mode) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Without space for it, it merely gives no protection.
                let file = (mode != OpenMode::Read).then(|| disk.open(&path, OpenMode::Create));
                return Ok(EndMark { path, store, file: file.and_then(Result::ok), found: None });
            }
            file => file.map_err(io_error("opening the end of the log", &path))?,
        };
        let found = read(&*file, &path, store)?;
        Ok(EndMark { path, store, file: (mode != OpenMode::Read).then_some(file), found })
    }

    /// Fails if a log that ends with this commit has lost acknowledged ones.
    pub(super) fn check(&self, last: CommitNo) -> Result<(), Error> {
        match self.found {
            Some(end) if end > last => {
                let what = format!(
                    "commit {} was acknowledged, but the log can only be read up to commit {}: \
                     restore from a backup, or remove this file to continue without the commits \
                     after that",
                    end.0, last.0
                );
                Err(damaged(&self.path, 0, &what))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Records that everything up to this commit is synced.
    pub(super) fn note(&self, synced: CommitNo) {
        if let Some(file) = &self.file {
            // A stale mark is as good as none.
            let _ = file.write_at(0, &Acknowledged(synced).encode(self.store));
        }
    }
}

fn read(file: &dyn DiskFile, path: &Path, store: u64) -> Result<Option<CommitNo>, Error> {
    let mut bytes = [0; Acknowledged::LEN];
    match file.read_at(0, &mut bytes) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read.map_err(io_error("reading the end of the log", path))?,
    }
    // A blank, damaged or foreign mark counts as none.
    Ok(Acknowledged::decode(&bytes, store).map(|Acknowledged(commit)| commit))
}
