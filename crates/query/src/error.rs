//! Why a question was not answered.

use std::fmt;

use keyloom_model::{Unreadable, attribute};
use keyloom_value::{Item, KeyBytes, Value};

use crate::{CursorError, RequestError};

/// Why a question was not answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The store could not.
    Store(keyloom_store::Error),
    /// The cursor cannot be used: ask without one, for the first page.
    Cursor(CursorError),
    /// The question makes no sense: change it.
    Request(RequestError),
    /// A row is damaged: repair it.
    Unreadable {
        /// The key attributes of the row.
        key: Box<Item>,
        /// What is wrong with it.
        reason: Unreadable,
    },
    /// The store answered for none of the rows, several times: ask again later.
    Unanswered {
        /// How many rows are left.
        rows: usize,
    },
}

impl From<keyloom_store::Error> for Error {
    fn from(error: keyloom_store::Error) -> Error {
        Error::Store(error)
    }
}

impl From<CursorError> for Error {
    fn from(error: CursorError) -> Error {
        Error::Cursor(error)
    }
}

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Error {
        Error::Request(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store(error) => error.fmt(f),
            Error::Cursor(error) => error.fmt(f),
            Error::Request(error) => error.fmt(f),
            Error::Unreadable { key, reason } => {
                write!(f, "The row ")?;
                write_key(f, key.get(attribute::PARTITION))?;
                write!(f, " / ")?;
                write_key(f, key.get(attribute::SORT))?;
                write!(f, " is damaged: {reason}. Verify and repair the data.")
            }
            Error::Unanswered { rows } => write!(
                f,
                "The store left {rows} rows of a batch unanswered, several times: ask again later."
            ),
        }
    }
}

/// The values that a key is made of, or its bytes as they are.
fn write_key(f: &mut fmt::Formatter<'_>, key: Option<&Value>) -> fmt::Result {
    let Some(key) = key else { return write!(f, "(none)") };
    let Some(Ok(parts)) = key.as_b().map(KeyBytes::decode) else { return write!(f, "{key}") };
    write!(f, "(")?;
    for (position, part) in parts.iter().enumerate() {
        let comma = if position == 0 { "" } else { ", " };
        write!(f, "{comma}{part}")?;
    }
    write!(f, ")")
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store(error) => Some(error),
            Error::Cursor(error) => Some(error),
            Error::Request(error) => Some(error),
            Error::Unreadable { reason, .. } => Some(reason),
            Error::Unanswered { .. } => None,
        }
    }
}
