//! Why a read failed.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Unreadable, attribute};
use keyloom_value::{Item, KeyBytes, Value};

use crate::{CursorError, RequestError};

/// Why a read failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error("{0}")]
    Store(#[from] keyloom_store::Error),
    /// The cursor is refused: read without one, from the first page.
    #[error("{0}")]
    Cursor(#[from] CursorError),
    /// The request is invalid: change it.
    #[error("{0}")]
    Request(#[from] RequestError),
    /// A row is damaged: repair it.
    #[error(
        "The row {} / {} is damaged: {reason}. Verify and repair the data.",
        key_text(.key.get(attribute::PARTITION)),
        key_text(.key.get(attribute::SORT))
    )]
    Unreadable {
        /// The key attributes of the row.
        key: Box<Item>,
        /// What is wrong with it.
        #[source]
        reason: Unreadable,
    },
    /// The store returned none of the rows, several times: retry later.
    #[error("The store left {rows} rows of a batch unread, several times: retry later.")]
    Unanswered {
        /// How many rows are left.
        rows: usize,
    },
}

/// The error of a damaged row. Keeps only its key attributes: the others may be large.
pub(crate) fn unreadable(row: &Item, reason: Unreadable) -> Error {
    let key = row.iter().filter(|(name, _)| [PARTITION, SORT].contains(&name.as_str()));
    let key = key.map(|(name, value)| (name.clone(), value.clone())).collect();
    Error::Unreadable { key: Box::new(key), reason }
}

/// The values that a key is made of, or its raw bytes.
fn key_text(key: Option<&Value>) -> String {
    let Some(key) = key else { return "(none)".to_owned() };
    let Some(Ok(parts)) = key.as_b().map(KeyBytes::decode) else { return key.to_string() };
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    format!("({})", parts.join(", "))
}
