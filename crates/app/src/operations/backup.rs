//! Copying a data directory.

use std::fs;
use std::path::{Path, PathBuf};

use keyloom_store::{CopyProgress, DirectoryError, Error};
use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation, Progress};
use crate::directory::OpenMode;

/// Copies a data directory into another one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Backup {
    /// The directory to create.
    pub to: PathBuf,
    /// The backup that it continues, if it is incremental.
    pub since: Option<PathBuf>,
}

/// What a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Number of rows.
    pub rows: u64,
    /// The last commit that it includes.
    pub commit: u64,
    /// The time of that commit, in milliseconds since 1970.
    pub at: u64,
}

impl From<CopyProgress> for Copied {
    fn from(copied: CopyProgress) -> Copied {
        Copied { rows: copied.rows, commit: copied.commit, at: copied.at.0 }
    }
}

impl Operation for Backup {
    const NAME: &'static str = "backup";
    type Answer = Copied;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Read
    }

    async fn run(self, data: &Data, channel: &mut Channel<'_>) -> Result<Copied, String> {
        let engine = data.engine()?;
        let copied = channel.watch(|report| {
            let mut report = |copied: CopyProgress| {
                report(Progress { count: copied.rows, ..Progress::default() })
            };
            create(&self.to, |target| match &self.since {
                None => engine.backup(target, &mut report),
                Some(since) => engine.backup_since(since, target, &mut report),
            })
        })?;
        Ok(copied.into())
    }
}

/// Fills a new directory. After a failure the store has removed its files; this removes the empty
/// directories that it leaves.
///
/// # Errors
///
/// Those of `fill`.
pub fn create(
    target: &Path,
    fill: impl FnOnce(&Path) -> Result<CopyProgress, Error>,
) -> Result<CopyProgress, String> {
    let existed = target.exists();
    let was_empty = target.read_dir().map_or(true, |mut entries| entries.next().is_none());
    fill(target).map_err(|error| {
        if was_empty && !matches!(error, Error::Directory(DirectoryError::Locked { .. })) {
            // Removes empty directories only.
            let _ = fs::remove_dir(target.join("log"));
        }
        if !existed {
            let _ = fs::remove_dir(target);
        }
        error.to_string()
    })
}
