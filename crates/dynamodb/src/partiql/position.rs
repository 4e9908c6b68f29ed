//! Where a token is in a statement.

use std::fmt;

/// The position of a token, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// From 1.
    pub(super) line: usize,
    /// From 1.
    pub(super) column: usize,
    pub(super) length: usize,
}

impl fmt::Display for Position {
    /// Writes it as the service does: `1:15:3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.line, self.column, self.length)
    }
}
