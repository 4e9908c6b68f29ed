//! Errors of stores.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use keyloom_value::Item;

use crate::directory_error::DirectoryError;
use crate::{IndexName, Invalid, SeqNo, TableName, Time};

/// An error of a store.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is invalid: change the request.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// The table does not exist.
    #[error("Table `{table}` not found.")]
    TableNotFound {
        /// The requested name.
        table: TableName,
    },
    /// A table with this name exists.
    #[error("Table `{table}` already exists.")]
    TableExists {
        /// The name.
        table: TableName,
    },
    /// The index does not exist.
    #[error("Table `{table}` has no index `{index}`.")]
    IndexNotFound {
        /// The table.
        table: TableName,
        /// The requested name.
        index: IndexName,
    },
    /// The index is being built: try again later.
    #[error("Index `{index}` of table `{table}` is being built: try again when it is active.")]
    IndexBuilding {
        /// The table.
        table: TableName,
        /// The index.
        index: IndexName,
    },
    /// The condition is false; nothing was written.
    #[error("The condition is false; nothing was written.")]
    ConditionFailed {
        /// The item that failed it, if requested and present.
        item: Option<Box<Item>>,
    },
    /// The transaction was canceled: at least one action has a reason.
    #[error("{}", canceled(.reasons))]
    Canceled {
        /// For each action, in order, why it failed.
        reasons: Vec<Option<CancelReason>>,
    },
    /// The token was used for a different transaction less than ten minutes ago.
    #[error(
        "Token `{token}` was used for a different transaction less than ten minutes ago: \
         use a new token."
    )]
    TokenReused {
        /// The token.
        token: String,
    },
    /// The table has no change feed: enable it.
    #[error("Table `{table}` has no change feed: alter the table to enable it.")]
    NoFeed {
        /// The table.
        table: TableName,
    },
    /// The requested changes are no longer in the feed.
    #[error("These changes are no longer in the feed: start from {oldest} or later.")]
    ChangesGone {
        /// The oldest change in the feed.
        oldest: SeqNo,
    },
    /// The requested position is after the end of the feed: it belongs to another store, or to
    /// this one before it was restored to an earlier point in time.
    #[error(
        "The position is after the end of the feed, {newest}: it belongs to another store, or \
         to this one before it was restored. Start from the oldest change."
    )]
    ChangesAhead {
        /// The end of the feed.
        newest: SeqNo,
    },
    /// The backup and the log do not cover the requested point in time.
    #[error(
        "The backup and the log cover commits {oldest} to {latest}, which do not include the \
         requested point in time: choose another one, an older backup or a longer log."
    )]
    MomentGone {
        /// The first commit that they cover.
        oldest: u64,
        /// The last commit that they cover.
        latest: u64,
    },
    /// The tree cannot be rebuilt from the log alone: its first commits were trimmed.
    #[error(
        "The log begins with commit {oldest}, so the tree cannot be rebuilt from it alone: \
         use a backup of this store that includes commit {}.",
        .oldest.saturating_sub(1)
    )]
    BackupNeeded {
        /// The first commit of the log.
        oldest: u64,
        /// When it happened. A backup made since then suffices.
        since: Time,
    },
    /// The backup cannot be combined with this store's log.
    #[error("The backup {} does not belong to this store's log: {why}.", .backup.display())]
    WrongBackup {
        /// The backup.
        backup: PathBuf,
        /// What does not match, and what to do.
        why: String,
    },
    /// The store does not support the operation.
    #[error("Not supported by this store: {what}.")]
    Unsupported {
        /// The operation.
        what: &'static str,
    },
    /// A progress callback stopped the operation. Nothing is left of it.
    #[error("The operation was stopped before it was complete.")]
    Stopped,
    /// The engine refuses writes since a failure; reads continue. If the cause is transient
    /// ([`Failure::may_pass`]), writes resume when it has passed, otherwise after the next open.
    /// Only then is it known whether the writes in flight at the time were kept.
    #[error("{}", refused(.0))]
    WritesRefused(#[source] Arc<Failure>),
    /// Something on disk differs from what was written.
    #[error("{0}")]
    Damaged(#[source] Arc<Damage>),
    /// The directory cannot be used as a data directory; nothing in it was changed.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(Arc<Failure>),
    /// The service that holds the tables refused the request; nothing was done.
    #[error("The service refused {0}")]
    Refused(Arc<Refusal>),
    /// The service that holds the tables did not say whether the request was done.
    #[error("No answer to {0} Whether it was done is unknown: check before you retry.")]
    Unanswered(Arc<Refusal>),
    /// The store is closed.
    #[error("The store is closed: reopen it.")]
    Closed,
}

/// Why one action of a transaction failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CancelReason {
    /// Its condition is false.
    #[error("The condition is false.")]
    ConditionFailed {
        /// The item that failed it, if requested and present.
        item: Option<Box<Item>>,
    },
    /// Its effect would be invalid.
    #[error("{0}")]
    Invalid(Invalid),
    /// The service that holds the tables refused it, for example because another transaction
    /// conflicted with every attempt.
    #[error("The service refused {0}")]
    Refused(Arc<Refusal>),
}

/// A service's answer to a request that it refused, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The operation, as the service names it.
    pub operation: &'static str,
    /// The service's error code, if it answered.
    pub code: Option<String>,
    /// Its message, or what happened instead.
    pub message: String,
    /// The table or index that had no capacity left, if that is why.
    pub resource: Option<String>,
    /// Whether the same request may succeed later: the service was busy.
    pub may_pass: bool,
}

/// An I/O failure: what failed, and where.
#[derive(Debug, thiserror::Error)]
#[error("While {doing}, {} failed: {cause}.", .path.display())]
pub struct Failure {
    /// What was being done, as in "syncing the log".
    pub doing: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The error of the system.
    #[source]
    pub cause: std::io::Error,
}

impl Failure {
    /// Whether the cause can go away while the store is open: a full disk, too many open files, a
    /// disk error. Not if the files are missing, damaged or read-only.
    pub fn may_pass(&self) -> bool {
        use std::io::ErrorKind::{
            FileTooLarge, InvalidData, NotFound, PermissionDenied, ReadOnlyFilesystem,
        };
        !matches!(
            self.cause.kind(),
            FileTooLarge | InvalidData | NotFound | PermissionDenied | ReadOnlyFilesystem
        )
    }
}

/// Bytes on disk that differ from what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The file {} is damaged at byte {offset}: {what}", .file.display())]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// The position in the file.
    pub offset: u64,
    /// What is wrong there, and what to do.
    pub what: String,
}

/// The error of a write that is not part of a transaction.
impl From<CancelReason> for Error {
    fn from(reason: CancelReason) -> Error {
        match reason {
            CancelReason::ConditionFailed { item } => Error::ConditionFailed { item },
            CancelReason::Invalid(invalid) => Error::Invalid(invalid),
            CancelReason::Refused(refusal) => Error::Refused(refusal),
        }
    }
}

fn refused(failure: &Failure) -> String {
    let until = match failure.may_pass() {
        true => "until the cause has passed",
        false => "until the store is reopened",
    };
    format!("{failure} Writes are refused {until}; reads continue.")
}

fn canceled(reasons: &[Option<CancelReason>]) -> String {
    let mut text = "The transaction was canceled; nothing was written.".to_owned();
    for (position, reason) in reasons.iter().enumerate() {
        if let Some(reason) = reason {
            text.push_str(&format!(" Action {}: {reason}", position + 1));
        }
    }
    text
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { operation, code, message, .. } = self;
        let message = message.trim_end_matches('.');
        match code {
            Some(code) => write!(f, "{operation} with `{code}`: {message}."),
            None => write!(f, "{operation}: {message}."),
        }
    }
}
