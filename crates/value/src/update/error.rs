//! Why an update cannot be applied.

use std::fmt;

use crate::{NumberError, Path, PathClash, ValueType};

/// Why an update is refused. The item is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// Two of its paths cannot be used together. The update is wrong for every item.
    #[error("{0}")]
    Clash(#[from] PathClash),
    /// A constant has a type that its operator does not take. The update is wrong for every item.
    #[error("{operator} at {path} is given a constant of type {found}; give it {}", OneOf(.expected))]
    OperandType {
        /// The operator.
        operator: UpdateOperator,
        /// The path that was to be written.
        path: Path,
        /// The types that the operator takes.
        expected: &'static [ValueType],
        /// The type of the constant.
        found: ValueType,
    },
    /// A value of the item, or the one that stands in for it, has a type that an operator does
    /// not take. The same update may fit another item.
    #[error("{operator} at {path} meets a value of type {found}, and needs {}; change the \
         update, or set the value anew", OneOf(.expected))]
    StoredType {
        /// The operator.
        operator: UpdateOperator,
        /// The path that was to be written.
        path: Path,
        /// The types that the operator takes there.
        expected: &'static [ValueType],
        /// The type of the value.
        found: ValueType,
    },
    /// `SET` reads a path that leads nowhere. [`SetValue::IfMissing`](crate::SetValue::IfMissing)
    /// can stand in for it.
    #[error(
        "the item has no value at {path} to read; say what to use instead with \
         if_not_exists"
    )]
    MissingOperand {
        /// The path that was read.
        path: Path,
    },
    /// The path is to be written or removed inside something that is not there, or that is not
    /// the map or list it is taken for. Write the map or list first.
    #[error(
        "the item has no map or list around {path}; set the map or list before what is \
         inside it"
    )]
    MissingParent {
        /// The path that was to be written or removed.
        path: Path,
    },
    /// The result is not a number that can be stored.
    #[error("the result for {path} cannot be stored: {error}")]
    Number {
        /// The path that was to be written.
        path: Path,
        /// What is wrong with the number.
        #[source]
        error: NumberError,
    },
}

/// An operator that does not take values of every type.
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
    /// The types that it takes.
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

/// Types as a phrase: "N", "SS, NS or BS".
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
