//! Why a handler failed.

use std::fmt;

use keyloom_store::Error as StoreError;

use crate::error::Error;

/// How many characters of an error message a job stores.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Why a handler failed.
///
/// `?` converts every error into a failure that is retried.
///
/// [`Db::replay`](crate::Db::replay) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub(crate) message: String,
    pub(crate) is_final: bool,
}

impl Failure {
    /// A failure that is retried, as long as attempts are left.
    pub fn new(message: impl fmt::Display) -> Failure {
        Failure { message: message.to_string(), is_final: false }
    }

    /// A failure that is not retried, because it would happen again.
    pub fn fatal(message: impl fmt::Display) -> Failure {
        Failure { message: message.to_string(), is_final: true }
    }

    /// Converts an error of a commit into a failure of its handler.
    ///
    /// # Errors
    ///
    /// The error itself, if the effects did not cause it: the store failed.
    pub(crate) fn of_effects(error: Error) -> Result<Failure, Error> {
        match error {
            Error::Store(StoreError::Invalid(_)) => Ok(Failure::from(error)),
            Error::Store(_) | Error::Entropy { .. } | Error::ModelChanged => Err(error),
            error => Ok(Failure::from(error)),
        }
    }

    /// The message, shortened to what a job stores.
    pub(crate) fn stored_message(&self) -> String {
        self.message.chars().take(MESSAGE_CHARS_MAX).collect()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(error)
    }
}
