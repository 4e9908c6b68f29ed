//! Errors of updates.

use std::fmt;

use crate::{NumberError, Path, PathClash, ValueType};

/// Why an update cannot be applied. The item is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// Two paths overlap or conflict. The update is invalid for every item.
    #[error("{0}")]
    Clash(#[from] PathClash),
    /// A constant has a type that its operator does not accept. The update is invalid for every item.
    #[error("{operator} at {path} does not accept a constant of type {found}; use {}", OneOf(.expected))]
    OperandType {
        /// The operator.
        operator: UpdateOperator,
        /// The path that was to be written.
        path: Path,
        /// The types that the operator accepts.
        expected: &'static [ValueType],
        /// The type of the constant.
        found: ValueType,
    },
    /// A value of the item, or its default, has a type that an operator does not accept. The update
    /// may be valid for another item.
    #[error("{operator} at {path} found a value of type {found}, and needs {}; change the \
         update, or set the value first", OneOf(.expected))]
    StoredType {
        /// The operator.
        operator: UpdateOperator,
        /// The path that was to be written.
        path: Path,
        /// The types that the operator accepts there.
        expected: &'static [ValueType],
        /// The type of the value.
        found: ValueType,
    },
    /// `SET` reads a path without a value. [`SetValue::IfMissing`](crate::SetValue::IfMissing)
    /// provides a default.
    #[error("the item has no value at {path} to read; provide a default with if_not_exists")]
    MissingOperand {
        /// The path that was read.
        path: Path,
    },
    /// The path is inside a map or list that does not exist, or inside a value that is neither.
    /// Write the map or list first.
    #[error("the item has no map or list that contains {path}; set the map or list first")]
    MissingParent {
        /// The path that was to be written or removed.
        path: Path,
    },
    /// The result is a number that cannot be stored.
    #[error("the result for {path} cannot be stored: {error}")]
    Number {
        /// The path that was to be written.
        path: Path,
        /// What is wrong with the number.
        #[source]
        error: NumberError,
    },
}

/// An operator that does not accept values of every type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateOperator {
    /// `ADD`
    Add,
    /// `DELETE`
    Delete,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `list_append`
    Append,
}

impl UpdateOperator {
    /// Returns the types that it accepts.
    pub(super) fn operand_types(self) -> &'static [ValueType] {
        match self {
            UpdateOperator::Add => &[ValueType::N, ValueType::Ss, ValueType::Ns, ValueType::Bs],
            UpdateOperator::Delete => &[ValueType::Ss, ValueType::Ns, ValueType::Bs],
            UpdateOperator::Plus | UpdateOperator::Minus => &[ValueType::N],
            UpdateOperator::Append => &[ValueType::L],
        }
    }
}

impl fmt::Display for UpdateOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            UpdateOperator::Add => "ADD",
            UpdateOperator::Delete => "DELETE",
            UpdateOperator::Plus => "+",
            UpdateOperator::Minus => "-",
            UpdateOperator::Append => "list_append",
        })
    }
}

/// Formats types as a phrase: "N", "SS, NS or BS".
struct OneOf<'a>(&'a [ValueType]);

impl fmt::Display for OneOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.0.len().saturating_sub(1);
        for (index, value_type) in self.0.iter().enumerate() {
            let separator = match index {
                0 => "",
                _ if index == last => " or ",
                _ => ", ",
            };
            write!(f, "{separator}{value_type}")?;
        }
        Ok(())
    }
}
