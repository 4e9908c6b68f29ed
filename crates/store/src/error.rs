//! Why a store did not do what it was asked.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use keyloom_value::Item;

use crate::directory_error::DirectoryError;
use crate::{IndexName, Invalid, SeqNo, TableName};

/// Why a store did not do what it was asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The request breaks a rule: change the request.
    Invalid(Invalid),
    /// There is no such table.
    TableNotFound {
        /// The name asked for.
        table: TableName,
    },
    /// A table of this name exists.
    TableExists {
        /// The name.
        table: TableName,
    },
    /// The table has no such index.
    IndexNotFound {
        /// The table.
        table: TableName,
        /// The name asked for.
        index: IndexName,
    },
    /// The index is still being filled: ask again later.
    IndexBuilding {
        /// The table.
        table: TableName,
        /// The index.
        index: IndexName,
    },
    /// The condition did not hold; nothing was written.
    ConditionFailed {
        /// The item that failed it, if that was asked for and it exists.
        item: Option<Box<Item>>,
    },
    /// The transaction did not happen: at least one action has a reason.
    Canceled {
        /// For each action, in order, why it could not happen.
        reasons: Vec<Option<CancelReason>>,
    },
    /// The token was used for another transaction less than ten minutes ago.
    TokenReused {
        /// The token.
        token: String,
    },
    /// The table has no change feed: alter it to have one.
    NoFeed {
        /// The table.
        table: TableName,
    },
    /// The changes asked for are no longer kept.
    ChangesGone {
        /// The oldest change that is.
        oldest: SeqNo,
    },
    /// The changes asked for come after all that there are: the position is of another store, or
    /// of this one before it was restored to an earlier moment.
    ChangesAhead {
        /// The newest change that there can be.
        newest: SeqNo,
    },
    /// A backup and a log do not reach the moment asked for.
    MomentGone {
        /// The first commit that they reach.
        oldest: u64,
        /// The last one.
        latest: u64,
    },
    /// The store cannot do this at all.
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// The engine takes no more writes since something failed; reads go on. Whether the writes in
    /// flight at that moment are kept shows after the next open.
    WritesRefused(Arc<Failure>),
    /// Something on disk is not as it was written.
    Damaged(Arc<Damage>),
    /// The directory cannot be used as a data directory; nothing in it was changed.
    Directory(DirectoryError),
    /// A file could not be read or written.
    Io(Arc<Failure>),
    /// The service that keeps the tables refused; nothing was done.
    Refused(Arc<Refusal>),
    /// The service that keeps the tables gave no answer that says whether it was done.
    Unanswered(Arc<Refusal>),
    /// The store is closed.
    Closed,
}

/// Why one action of a transaction could not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// Its condition did not hold.
    ConditionFailed {
        /// The item that failed it, if that was asked for and it exists.
        item: Option<Box<Item>>,
    },
    /// Its effect would break a rule.
    Invalid(Invalid),
    /// The service that keeps the tables says so, for example because another transaction was in
    /// the way each time it was tried.
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
#[derive(Debug)]
pub struct Failure {
    /// What was being done, as in "syncing the log".
    pub doing: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// What the system said.
    pub cause: std::io::Error,
}

/// Bytes on disk that are not what was written.
#[derive(Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// Where in the file.
    pub offset: u64,
    /// What is wrong there, and what to do.
    pub what: String,
}

impl From<DirectoryError> for Error {
    fn from(error: DirectoryError) -> Error {
        Error::Directory(error)
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Error {
        Error::Invalid(invalid)
    }
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid(invalid) => invalid.fmt(f),
            Error::TableNotFound { table } => write!(f, "There is no table `{table}`."),
            Error::TableExists { table } => write!(f, "There is a table `{table}` already."),
            Error::IndexNotFound { table, index } => {
                write!(f, "The table `{table}` has no index `{index}`.")
            }
            Error::IndexBuilding { table, index } => write!(
                f,
                "The index `{index}` of the table `{table}` is still being filled: \
                 ask again when it is active."
            ),
            Error::ConditionFailed { .. } => {
                write!(f, "The condition did not hold; nothing was written.")
            }
            Error::Canceled { reasons } => canceled(f, reasons),
            Error::TokenReused { token } => write!(
                f,
                "The token `{token}` was used for another transaction less than ten minutes ago: \
                 take a new token."
            ),
            Error::NoFeed { table } => {
                write!(f, "The table `{table}` has no change feed: alter it to have one.")
            }
            Error::ChangesGone { oldest } => {
                write!(f, "These changes are no longer kept: start from {oldest} or later.")
            }
            Error::ChangesAhead { newest } => write!(
                f,
                "No change is as late as this: the feed has come to {newest}. The position is of \
                 another store, or from before this one was restored; start from the oldest change."
            ),
            Error::MomentGone { oldest, latest } => write!(
                f,
                "The backup and the log reach from commit {oldest} to commit {latest}, and the \
                 moment asked for is not between them: choose another moment, an older backup or a \
                 log that goes further."
            ),
            Error::Unsupported { what } => write!(f, "This store cannot do this: {what}."),
            Error::WritesRefused(failure) => write!(
                f,
                "{failure} No writes are taken until the store is opened again; reads go on."
            ),
            Error::Damaged(damage) => damage.fmt(f),
            Error::Directory(error) => error.fmt(f),
            Error::Io(failure) => failure.fmt(f),
            Error::Refused(refusal) => write!(f, "The service refused {refusal}"),
            Error::Unanswered(refusal) => write!(
                f,
                "There was no answer to {refusal} Whether it was done is not known: look before \
                 you ask again."
            ),
            Error::Closed => write!(f, "The store is closed: open it again."),
        }
    }
}

fn canceled(f: &mut fmt::Formatter<'_>, reasons: &[Option<CancelReason>]) -> fmt::Result {
    write!(f, "The transaction did not happen; nothing was written.")?;
    for (position, reason) in reasons.iter().enumerate() {
        if let Some(reason) = reason {
            write!(f, " Action {}: {reason}", position + 1)?;
        }
    }
    Ok(())
}

impl fmt::Display for CancelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CancelReason::ConditionFailed { .. } => write!(f, "Its condition did not hold."),
            CancelReason::Invalid(invalid) => invalid.fmt(f),
            CancelReason::Refused(refusal) => write!(f, "The service refused {refusal}"),
        }
    }
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "While {}, {} failed: {}.", self.doing, self.path.display(), self.cause)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { file, offset, what } = self;
        write!(f, "The file {} is damaged at byte {offset}: {what}", file.display())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Invalid(invalid) => Some(invalid),
            Error::WritesRefused(failure) | Error::Io(failure) => Some(&failure.cause),
            Error::Damaged(damage) => Some(damage.as_ref()),
            _ => None,
        }
    }
}

impl std::error::Error for CancelReason {}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl std::error::Error for Damage {}
