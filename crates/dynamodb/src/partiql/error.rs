//! Errors in statements.

use crate::expression::ExpressionError;

use super::position::Position;

/// An error in a statement, with the service's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct StatementError {
    message: String,
}

impl StatementError {
    pub(crate) fn new(message: impl Into<String>) -> StatementError {
        StatementError { message: message.into() }
    }

    /// The text cannot be parsed. The service adds nothing if it cannot be split into tokens.
    pub(super) fn malformed(why: &str) -> StatementError {
        StatementError::new(format!("Statement wasn't well formed, can't be processed: {why}"))
    }

    /// The error of one token.
    pub(super) fn at(message: impl AsRef<str>, position: Position) -> StatementError {
        StatementError::new(format!("{} at {position}", message.as_ref()))
    }
}

impl From<ExpressionError> for StatementError {
    fn from(error: ExpressionError) -> StatementError {
        StatementError::new(error.to_string())
    }
}
