//! `ComparisonOperator`: its names, and the types of arguments that it accepts.

use keyloom_value::{Comparison, ValueType};

/// The names, in the service's order.
pub(super) const NAMES: &[&str] = &[
    "IN",
    "NULL",
    "BETWEEN",
    "LT",
    "NOT_CONTAINS",
    "EQ",
    "GT",
    "NOT_NULL",
    "NE",
    "LE",
    "BEGINS_WITH",
    "GE",
    "CONTAINS",
];

const ORDERED: &[ValueType] = &[ValueType::S, ValueType::N, ValueType::B];
const WITH_PREFIXES: &[ValueType] = &[ValueType::S, ValueType::B];
const MEMBERS: &[ValueType] =
    &[ValueType::S, ValueType::N, ValueType::B, ValueType::Bool, ValueType::Null];

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonOperator {
    Compare(Comparison),
    NotNull,
    Null,
    Contains,
    NotContains,
    BeginsWith,
    In,
    Between,
}

impl ComparisonOperator {
    pub(super) fn named(name: &str) -> Option<ComparisonOperator> {
        Some(match name {
            "EQ" => ComparisonOperator::Compare(Comparison::Equal),
            "NE" => ComparisonOperator::Compare(Comparison::NotEqual),
            "LE" => ComparisonOperator::Compare(Comparison::LessOrEqual),
            "LT" => ComparisonOperator::Compare(Comparison::Less),
            "GE" => ComparisonOperator::Compare(Comparison::GreaterOrEqual),
            "GT" => ComparisonOperator::Compare(Comparison::Greater),
            "NOT_NULL" => ComparisonOperator::NotNull,
            "NULL" => ComparisonOperator::Null,
            "CONTAINS" => ComparisonOperator::Contains,
            "NOT_CONTAINS" => ComparisonOperator::NotContains,
            "BEGINS_WITH" => ComparisonOperator::BeginsWith,
            "IN" => ComparisonOperator::In,
            "BETWEEN" => ComparisonOperator::Between,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            ComparisonOperator::Compare(Comparison::Equal) => "EQ",
            ComparisonOperator::Compare(Comparison::NotEqual) => "NE",
            ComparisonOperator::Compare(Comparison::LessOrEqual) => "LE",
            ComparisonOperator::Compare(Comparison::Less) => "LT",
            ComparisonOperator::Compare(Comparison::GreaterOrEqual) => "GE",
            ComparisonOperator::Compare(Comparison::Greater) => "GT",
            ComparisonOperator::NotNull => "NOT_NULL",
            ComparisonOperator::Null => "NULL",
            ComparisonOperator::Contains => "CONTAINS",
            ComparisonOperator::NotContains => "NOT_CONTAINS",
            ComparisonOperator::BeginsWith => "BEGINS_WITH",
            ComparisonOperator::In => "IN",
            ComparisonOperator::Between => "BETWEEN",
        }
    }

    /// Returns whether an argument can have this type. A list, for example, equals another one but
    /// is not less than it.
    pub(super) fn admits(self, value_type: ValueType) -> bool {
        match self {
            ComparisonOperator::Compare(Comparison::Equal | Comparison::NotEqual)
            | ComparisonOperator::NotNull
            | ComparisonOperator::Null => true,
            ComparisonOperator::Compare(
                Comparison::Less
                | Comparison::LessOrEqual
                | Comparison::Greater
                | Comparison::GreaterOrEqual,
            )
            | ComparisonOperator::In
            | ComparisonOperator::Between => ORDERED.contains(&value_type),
            ComparisonOperator::Contains | ComparisonOperator::NotContains => {
                MEMBERS.contains(&value_type)
            }
            ComparisonOperator::BeginsWith => WITH_PREFIXES.contains(&value_type),
        }
    }
}
