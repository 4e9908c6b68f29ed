//! The status of a data directory.

use serde::{Deserialize, Serialize};

use super::{About, Channel, Data, Operation};
use crate::directory::OpenMode;

/// Returns the status of a data directory.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {}

/// The status of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// The version of the program that has it open.
    pub version: String,
    /// The server that has it open, if any.
    pub server: Option<About>,
    /// The last commit visible to readers.
    pub commit: u64,
    /// The last commit that is synced to disk.
    pub synced: u64,
    /// The last commit in the tree on disk.
    pub checkpointed: u64,
    /// The oldest commit in the log.
    pub oldest: u64,
    /// Size of the tree.
    pub tree_bytes: u64,
    /// Size of the log.
    pub log_bytes: u64,
    /// Number of log files.
    pub log_segments: u64,
    /// Bytes of the tree that hold rows.
    pub live_bytes: u64,
    /// Damage that the background scrub or a request has found since the directory was opened.
    pub damages: u64,
    /// Free space of the file system, if known.
    pub free_bytes: Option<u64>,
    /// Size of the file system, if known.
    pub total_bytes: Option<u64>,
    /// Why writes are refused, if they are.
    pub failure: Option<String>,
    /// Background operations in progress, if a model is served.
    pub background: Vec<Work>,
}

/// A background operation in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Its kind.
    pub kind: String,
    /// What it works on.
    pub of: String,
    /// Number of entities or rows done.
    pub done: u64,
    /// Total number of them, if known.
    pub total: Option<u64>,
    /// When it started, in milliseconds since 1970.
    pub since: i64,
}

impl Operation for Status {
    const NAME: &'static str = "status";
    type Answer = StatusAnswer;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Read
    }

    async fn run(self, data: &Data, _: &mut Channel<'_>) -> Result<StatusAnswer, String> {
        let background = match data.served() {
            Some(db) => db.operations().await.map_err(|error| error.to_string())?,
            None => vec![],
        };
        let status = data.engine()?.status().map_err(|error| error.to_string())?;
        Ok(StatusAnswer {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            server: data.about().cloned(),
            commit: status.commit,
            synced: status.synced,
            checkpointed: status.checkpointed,
            oldest: status.oldest,
            tree_bytes: status.tree_bytes,
            log_bytes: status.log_bytes,
            log_segments: status.log_segments as u64,
            live_bytes: status.tree_live_bytes,
            damages: status.damages,
            free_bytes: status.disk_free_bytes,
            total_bytes: status.disk_bytes,
            // A command that opens read-only refuses writes, which is not a failure.
            failure: data.about().and(status.failure).map(|failure| failure.to_string()),
            background: background.into_iter().map(Work::from).collect(),
        })
    }
}

impl From<keyloom::Operation> for Work {
    fn from(work: keyloom::Operation) -> Work {
        let keyloom::Operation { kind, of, done, total, since_ms: since, .. } = work;
        Work { kind: kind.to_string(), of, done, total, since }
    }
}
