//! Conditions on an item, as data, and whether they hold.

mod evaluate;

use crate::{Path, Value, ValueType};

/// A condition on an item that may not exist.
///
/// Evaluating, cloning, printing and dropping follow the nesting with the call stack. A caller
/// that takes conditions from outside checks [`Condition::operators`] or [`Condition::depth`]
/// first, which are safe at any depth; DynamoDB allows 300 operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Compares two operands. Operands of different types are never ordered and never equal, and
    /// neither are absent ones. So only `<>` holds for them.
    Compare {
        /// What stands left of the sign.
        left: Operand,
        /// The sign.
        comparison: Comparison,
        /// What stands right of it.
        right: Operand,
    },
    /// `low <= operand <= high`.
    Between {
        /// What is tested.
        operand: Operand,
        /// The inclusive lower bound.
        low: Operand,
        /// The inclusive upper bound.
        high: Operand,
    },
    /// The operand equals one of the choices.
    In {
        /// What is tested.
        operand: Operand,
        /// What it may equal.
        choices: Vec<Operand>,
    },
    /// There is a value at the path.
    Exists(Path),
    /// There is no value at the path.
    Missing(Path),
    /// The value at the path has the type.
    HasType(Path, ValueType),
    /// A text or bytes operand begins with another.
    BeginsWith(Operand, Operand),
    /// A text contains a text, bytes contain bytes, a set contains a member, a list an element.
    Contains(Operand, Operand),
    /// All of them hold.
    And(Vec<Condition>),
    /// At least one of them holds.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

/// What a condition compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value at a path; absent if there is none.
    Path(Path),
    /// A constant.
    Value(Value),
    /// The size of the value at a path: UTF-16 code units of a text, bytes, or elements. Absent
    /// for numbers, truth values and null, which have no size.
    Size(Path),
}

/// The sign of a comparison.
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

    /// How many operators and functions it is made of, as an expression would spell it: every
    /// test, `NOT` and `size` is one, and what joins n conditions are n - 1.
    pub fn operators(&self) -> usize {
        let mut count = 0;
        self.visit(|condition, _| count += condition.own_operators());
        count
    }

    /// How many conditions lie around its innermost test: 0 for a test.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        self.visit(|_, around| deepest = deepest.max(around));
        deepest
    }

    /// Shows every condition inside, itself first, with the number of those around it. It keeps
    /// its own stack, so that a condition too deep to evaluate can still be measured.
    fn visit(&self, mut show: impl FnMut(&Condition, usize)) {
        let mut pending = vec![(self, 0)];
        while let Some((condition, around)) = pending.pop() {
            show(condition, around);
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

    /// The operators of this condition without those of the conditions inside.
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
