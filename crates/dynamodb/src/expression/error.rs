//! Errors in expressions.

use keyloom_value::{Path, PathClash, Step};

/// An error in an expression, with the service's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    message: String,
}

impl ExpressionError {
    pub(crate) fn new(message: impl Into<String>) -> ExpressionError {
        ExpressionError { message: message.into() }
    }

    /// Two paths overlap or conflict.
    pub(super) fn clash(clash: &PathClash) -> ExpressionError {
        let (verb, first, second) = match clash {
            PathClash::Overlap { first, second } => ("overlap", first, second),
            PathClash::Conflict { first, second } => ("conflict", first, second),
        };
        ExpressionError::new(format!(
            "Two document paths {verb} with each other; must remove or rewrite one of these \
             paths; path one: {}, path two: {}",
            path_text(first),
            path_text(second)
        ))
    }

    /// Adds the name of the parameter that holds the expression.
    pub(super) fn in_parameter(self, parameter: &str) -> ExpressionError {
        ExpressionError::new(format!("Invalid {parameter}: {}", self.message))
    }
}

/// Formats a path as the service does: `[a, b, [1]]`.
pub(super) fn path_text(path: &Path) -> String {
    let steps = path.steps().iter().map(|step| match step {
        Step::Member(name) => name.to_string(),
        Step::Element(index) => format!("[{index}]"),
    });
    let parts: Vec<String> = std::iter::once(path.root().to_string()).chain(steps).collect();
    format!("[{}]", parts.join(", "))
}
