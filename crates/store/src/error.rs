//! Why a store did not do what it was asked.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use keyloom_value::Item;

use crate::directory_error::DirectoryError;
use crate::{IndexName, Invalid, SeqNo, TableName, Time};

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request breaks a rule: change the request.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// There is no such table.
    #[error("There is no table `{table}`.")]
    TableNotFound {
        /// The name asked for.
        table: TableName,
    },
    /// A table of this name exists.
    #[error("There is a table `{table}` already.")]
    TableExists {
        /// The name.
        table: TableName,
    },
    /// The table has no such index.
    #[error("The table `{table}` has no index `{index}`.")]
    IndexNotFound {
        /// The table.
        table: TableName,
        /// The name asked for.
        index: IndexName,
    },
    /// The index is still being filled: ask again later.
    #[error(
        "The index `{index}` of the table `{table}` is still being filled: \
         ask again when it is active."
    )]
    IndexBuilding {
        /// The table.
        table: TableName,
        /// The index.
        index: IndexName,
    },
    /// The condition did not hold; nothing was written.
    #[error("The condition did not hold; nothing was written.")]
    ConditionFailed {
        /// The item that failed it, if that was asked for and it exists.
        item: Option<Box<Item>>,
    },
    /// The transaction did not happen: at least one action has a reason.
    #[error("{}", canceled(.reasons))]
    Canceled {
        /// For each action, in order, why it could not happen.
        reasons: Vec<Option<CancelReason>>,
    },
    /// The token was used for another transaction less than ten minutes ago.
    #[error(
        "The token `{token}` was used for another transaction less than ten minutes ago: \
         take a new token."
    )]
    TokenReused {
        /// The token.
        token: String,
    },
    /// The table has no change feed: alter it to have one.
    #[error("The table `{table}` has no change feed: alter it to have one.")]
    NoFeed {
        /// The table.
        table: TableName,
    },
    /// The changes asked for are no longer kept.
    #[error("These changes are no longer kept: start from {oldest} or later.")]
    ChangesGone {
        /// The oldest change that is.
        oldest: SeqNo,
    },
    /// The changes asked for come after all that there are: the position is of another store, or
    /// of this one before it was restored to an earlier moment.
    #[error(
        "No change is as late as this: the feed has come to {newest}. The position is of \
         another store, or from before this one was restored; start from the oldest change."
    )]
    ChangesAhead {
        /// The newest change that there can be.
        newest: SeqNo,
    },
    /// A backup and a log do not reach the moment asked for.
    #[error(
        "The backup and the log reach from commit {oldest} to commit {latest}, and the \
         moment asked for is not between them: choose another moment, an older backup or a \
         log that goes further."
    )]
    MomentGone {
        /// The first commit that they reach.
        oldest: u64,
        /// The last one.
        latest: u64,
    },
    /// The tree cannot be rebuilt from the log alone: its first commits are no longer kept.
    #[error(
        "The log begins with commit {oldest}, so the tree cannot be rebuilt from it alone: \
         use a backup of this store that includes commit {}.",
        .oldest.saturating_sub(1)
    )]
    BackupNeeded {
        /// The first commit of the log.
        oldest: u64,
        /// When it happened. A backup that was made since will do.
        since: Time,
    },
    /// A backup is of no use for rebuilding the tree.
    #[error("The backup {} does not belong to this store's log: {why}.", .backup.display())]
    WrongBackup {
        /// The backup.
        backup: PathBuf,
        /// What does not fit, and what to do.
        why: String,
    },
    /// The store cannot do this at all.
    #[error("This store cannot do this: {what}.")]
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// Whoever was told of the progress did not want it to go on. Nothing is left of it.
    #[error("It was stopped before its end.")]
    Stopped,
    /// The engine takes no writes since something failed; reads go on. If the cause can pass
    /// ([`Failure::may_pass`]), writing resumes when it has passed, otherwise after the next open.
    /// Whether the writes in flight at that moment are kept shows then.
    #[error("{}", refused(.0))]
    WritesRefused(#[source] Arc<Failure>),
    /// Something on disk is not as it was written.
    #[error("{0}")]
    Damaged(#[source] Arc<Damage>),
    /// The directory cannot be used as a data directory; nothing in it was changed.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(Arc<Failure>),
    /// The service that keeps the tables refused; nothing was done.
    #[error("The service refused {0}")]
    Refused(Arc<Refusal>),
    /// The service that keeps the tables gave no answer that says whether it was done.
    #[error(
        "There was no answer to {0} Whether it was done is not known: look before \
         you ask again."
    )]
    Unanswered(Arc<Refusal>),
    /// The store is closed.
    #[error("The store is closed: open it again.")]
    Closed,
}

/// Why one action of a transaction could not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CancelReason {
    /// Its condition did not hold.
    #[error("Its condition did not hold.")]
    ConditionFailed {
        /// The item that failed it, if that was asked for and it exists.
        item: Option<Box<Item>>,
    },
    /// Its effect would break a rule.
    #[error("{0}")]
    Invalid(Invalid),
    /// The service that keeps the tables says so, for example because another transaction was in
    /// the way each time it was tried.
    #[error("The service refused {0}")]
    Refused(Arc<Refusal>),
}

/// What a service said to a request, or why it said nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked, as the service names it.
    pub operation: &'static str,
    /// The service's code, if it answered.
    pub code: Option<String>,
    /// Its words, or what happened instead.
    pub message: String,
}

/// What failed, and where.
#[derive(Debug, thiserror::Error)]
#[error("While {doing}, {} failed: {cause}.", .path.display())]
pub struct Failure {
    /// What was being done, as in "syncing the log".
    pub doing: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub cause: std::io::Error,
}

impl Failure {
    /// Whether the cause can go away while the store is open: a full disk, too many open files, an
    /// error of the disk. Not so if the files are gone, damaged, or not to be written at all.
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

/// Bytes on disk that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The file {} is damaged at byte {offset}: {what}", .file.display())]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// Where in the file.
    pub offset: u64,
    /// What is wrong there, and what to do.
    pub what: String,
}

/// Why a write that is no part of a transaction could not happen.
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
        true => "until this has passed",
        false => "until the store is opened again",
    };
    format!("{failure} No writes are taken {until}; reads go on.")
}

fn canceled(reasons: &[Option<CancelReason>]) -> String {
    let mut text = "The transaction did not happen; nothing was written.".to_owned();
    for (position, reason) in reasons.iter().enumerate() {
        if let Some(reason) = reason {
            text.push_str(&format!(" Action {}: {reason}", position + 1));
        }
    }
    text
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { operation, code, message } = self;
        let message = message.trim_end_matches('.');
        match code {
            Some(code) => write!(f, "{operation} with `{code}`: {message}."),
            None => write!(f, "{operation}: {message}."),
        }
    }
}
