//! Copying a data directory.

use std::fs;
use std::path::{Path, PathBuf};

use keyloom_store::{CopyProgress, DirectoryError, Error};
use serde::{Deserialize, Serialize};

use super::{Data, Operation, Progress, Talk};
use crate::directory::Use;

/// Copies a data directory into another one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Backup {
    /// The directory to create.
    pub to: PathBuf,
    /// The backup that it goes on from, if it is incremental.
    pub since: Option<PathBuf>,
}

/// What a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// How many rows.
    pub rows: u64,
    /// The last commit that it includes.
    pub commit: u64,
    /// When that commit happened, in milliseconds since 1970.
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

    fn used(&self) -> Use {
        Use::Read
    }

    async fn run(self, data: &Data, talk: &mut Talk<'_>) -> Result<Copied, String> {
        let engine = data.engine()?;
        let copied = talk.watch(|tell| {
            let mut tell =
                |copied: CopyProgress| tell(Progress { count: copied.rows, ..Progress::default() });
            create(&self.to, |target| match &self.since {
                None => engine.backup(target, &mut tell),
                Some(since) => engine.backup_since(since, target, &mut tell),
            })
        })?;
        Ok(copied.into())
    }
}

/// Fills a new directory. After a failure the store has removed its files; what it leaves empty goes
/// too.
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
            // Nothing that holds anything is removed.
            let _ = fs::remove_dir(target.join("log"));
        }
        if !existed {
            let _ = fs::remove_dir(target);
        }
        error.to_string()
    })
}
