//! How a data directory is doing.

use serde::{Deserialize, Serialize};

use super::{About, Data, Operation, Talk};
use crate::directory::Use;

/// Tells how a data directory is doing.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {}

/// How a data directory is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// The version of the program that has it open.
    pub version: String,
    /// The server that has it open.
    pub server: Option<About>,
    /// The last commit that readers see.
    pub commit: u64,
    /// The last commit that is safe on disk.
    pub synced: u64,
    /// The last commit that the tree on disk has.
    pub checkpointed: u64,
    /// The oldest commit in the log.
    pub oldest: u64,
    /// Bytes of the tree.
    pub tree_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Files of the log.
    pub log_segments: u64,
    /// Bytes of the tree that rows take.
    pub live_bytes: u64,
    /// Damaged places that the background scrub or a request has found since the directory was opened.
    pub damages: u64,
    /// Free bytes of the file system, if they can be told.
    pub free_bytes: Option<u64>,
    /// Bytes that the file system has, if they can be told.
    pub total_bytes: Option<u64>,
    /// Why no writes are taken, if that is so.
    pub failure: Option<String>,
    /// Long work that is under way, if a model is served.
    pub background: Vec<Work>,
}

/// Long work that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// What is done.
    pub kind: String,
    /// What it is done to.
    pub of: String,
    /// How many entities or rows are done.
    pub done: u64,
    /// How many there are, if that is known.
    pub total: Option<u64>,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
}

impl Operation for Status {
    const NAME: &'static str = "status";
    type Answer = StatusAnswer;

    fn used(&self) -> Use {
        Use::Read
    }

    async fn run(self, data: &Data, _: &mut Talk<'_>) -> Result<StatusAnswer, String> {
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
            // A command that only reads takes no writes, and that is no failure.
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
