//! Conditions on an item, as data, and their evaluation.

mod evaluate;
mod mentions;

pub use mentions::Mentions;

use crate::{Path, Value, ValueType};

/// A condition on an item that may not exist.
///
/// Evaluating, cloning, printing and dropping are recursive. For conditions of unknown origin,
/// check [`Condition::operators`] or [`Condition::depth`] first, which are safe at any depth;
/// DynamoDB allows 300 operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Compares two operands. Operands of different types, and absent ones, are neither ordered nor
    /// equal, so only `<>` holds for them.
    Compare {
        /// The left operand.
        left: Operand,
        /// The operator.
        comparison: Comparison,
        /// The right operand.
        right: Operand,
    },
    /// `low <= operand <= high`.
    Between {
        /// The tested operand.
        operand: Operand,
        /// The inclusive lower bound.
        low: Operand,
        /// The inclusive upper bound.
        high: Operand,
    },
    /// The operand equals one of the choices.
    In {
        /// The tested operand.
        operand: Operand,
        /// The operands it may equal.
        choices: Vec<Operand>,
    },
    /// There is a value at the path.
    Exists(Path),
    /// There is no value at the path.
    Missing(Path),
    /// The value at the path has the type.
    HasType(Path, ValueType),
    /// A string or bytes operand begins with another.
    BeginsWith(Operand, Operand),
    /// A string contains a string, bytes contain bytes, a set a member, a list an element.
    Contains(Operand, Operand),
    /// All of them hold.
    And(Vec<Condition>),
    /// At least one of them holds.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

/// An operand of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value at a path; absent if there is none.
    Path(Path),
    /// A constant.
    Value(Value),
    /// The size of the value at a path: UTF-16 code units of a string, bytes, or elements. Absent
    /// for numbers, Booleans and null, which have no size.
    Size(Path),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Condition {
    /// Compares two operands.
    pub fn compare(
        left: impl Into<Operand>,
        comparison: Comparison,
        right: impl Into<Operand>,
    ) -> Condition {
        Condition::Compare { left: left.into(), comparison, right: right.into() }
    }

    /// The operands are equal.
    pub fn equal(left: impl Into<Operand>, right: impl Into<Operand>) -> Condition {
        Condition::compare(left, Comparison::Equal, right)
    }

    /// There is a value at the path.
    pub fn exists(path: impl Into<Path>) -> Condition {
        Condition::Exists(path.into())
    }

    /// There is no value at the path.
    pub fn missing(path: impl Into<Path>) -> Condition {
        Condition::Missing(path.into())
    }

    /// All of them hold; `None` if there are none.
    pub fn all(mut conditions: Vec<Condition>) -> Option<Condition> {
        match conditions.len() {
            0 | 1 => conditions.pop(),
            _ => Some(Condition::And(conditions)),
        }
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Condition) -> Condition {
        match self {
            Condition::And(mut conditions) => {
                conditions.push(other);
                Condition::And(conditions)
            }
            condition => Condition::And(vec![condition, other]),
        }
    }

    /// At least one of the two holds.
    #[must_use]
    pub fn or(self, other: Condition) -> Condition {
        match self {
            Condition::Or(mut conditions) => {
                conditions.push(other);
                Condition::Or(conditions)
            }
            condition => Condition::Or(vec![condition, other]),
        }
    }

    /// It does not hold.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "it reads like `and` and `or` without an import"
    )]
    pub fn not(self) -> Condition {
        Condition::Not(Box::new(self))
    }

    /// Returns the number of operators and functions in its expression: every test, `NOT` and
    /// `size` is one, and joining n conditions takes n - 1.
    pub fn operators(&self) -> usize {
        let mut count = 0;
        self.visit(|condition, _| count += condition.own_operators());
        count
    }

    /// Returns how many conditions surround its innermost test: 0 for a test.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        self.visit(|_, around| deepest = deepest.max(around));
        deepest
    }

    /// Visits every condition in it, itself first, with its depth. Keeps its own stack, so that a
    /// condition too deep to evaluate can still be measured.
    fn visit(&self, mut visit: impl FnMut(&Condition, usize)) {
        let mut pending = vec![(self, 0)];
        while let Some((condition, around)) = pending.pop() {
            visit(condition, around);
            match condition {
                Condition::And(inner) | Condition::Or(inner) => {
                    pending.extend(inner.iter().map(|condition| (condition, around + 1)));
                }
                Condition::Not(inner) => pending.push((inner, around + 1)),
                Condition::Compare { .. }
                | Condition::Between { .. }
                | Condition::In { .. }
                | Condition::Exists(_)
                | Condition::Missing(_)
                | Condition::HasType(..)
                | Condition::BeginsWith(..)
                | Condition::Contains(..) => {}
            }
        }
    }

    /// Returns the operators of this condition, without those of its subconditions.
    fn own_operators(&self) -> usize {
        match self {
            Condition::Compare { left, right, .. } => 1 + left.operators() + right.operators(),
            Condition::Between { operand, low, high } => {
                1 + operand.operators() + low.operators() + high.operators()
            }
            Condition::In { operand, choices } => {
                1 + operand.operators() + choices.iter().map(Operand::operators).sum::<usize>()
            }
            Condition::BeginsWith(left, right) | Condition::Contains(left, right) => {
                1 + left.operators() + right.operators()
            }
            Condition::Exists(_)
            | Condition::Missing(_)
            | Condition::HasType(..)
            | Condition::Not(_) => 1,
            Condition::And(inner) | Condition::Or(inner) => inner.len().saturating_sub(1),
        }
    }
}

impl Comparison {
    /// Returns the comparison with its operands exchanged: `a < b` is `b > a`.
    #[must_use]
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            Comparison::Equal | Comparison::NotEqual => self,
        }
    }

    /// Returns the operator as expressions write it.
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

impl Operand {
    /// The size of the value at a path.
    pub fn size(path: impl Into<Path>) -> Operand {
        Operand::Size(path.into())
    }

    fn operators(&self) -> usize {
        match self {
            Operand::Path(_) | Operand::Value(_) => 0,
            Operand::Size(_) => 1,
        }
    }
}

impl From<Path> for Operand {
    fn from(path: Path) -> Operand {
        Operand::Path(path)
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Operand {
        Operand::Value(value)
    }
}
