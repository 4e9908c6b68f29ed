//! Why a question was not answered.

use keyloom_model::{Unreadable, attribute};
use keyloom_value::{Item, KeyBytes, Value};

use crate::{CursorError, RequestError};

/// Why a question was not answered.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store could not.
    #[error("{0}")]
    Store(#[from] keyloom_store::Error),
    /// The cursor cannot be used: ask without one, for the first page.
    #[error("{0}")]
    Cursor(#[from] CursorError),
    /// The question makes no sense: change it.
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
    /// The store answered for none of the rows, several times: ask again later.
    #[error("The store left {rows} rows of a batch unanswered, several times: ask again later.")]
    Unanswered {
        /// How many rows are left.
        rows: usize,
    },
}

/// The values that a key is made of, or its bytes as they are.
fn key_text(key: Option<&Value>) -> String {
    let Some(key) = key else { return "(none)".to_owned() };
    let Some(Ok(parts)) = key.as_b().map(KeyBytes::decode) else { return key.to_string() };
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    format!("({})", parts.join(", "))
}
