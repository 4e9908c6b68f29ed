//! A test of one attribute: an operator with as many arguments as it takes, of types that it
//! accepts.

use std::cmp::Ordering;

use keyloom_value::{Comparison, Condition, KeyTest, Name, Operand, Path, Value, ValueType};

use crate::wire::Fault;

use super::comparison_operator::ComparisonOperator;

/// The most arguments of `IN`, as in expressions: each item is compared with every one of them.
const CHOICES_MAX: usize = 100;

/// A valid test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Compare(Comparison, Value),
    Exists,
    Missing,
    Contains(Value),
    NotContains(Value),
    BeginsWith(Value),
    In(Vec<Value>),
    Between(Value, Value),
}

impl Test {
    /// Checks arguments in the service's order: their number, their types, their order.
    pub(super) fn new(operator: ComparisonOperator, arguments: Vec<Value>) -> Result<Test, Fault> {
        let types: Vec<ValueType> = arguments.iter().map(Value::value_type).collect();
        let test = Test::counted(operator, arguments)?;
        check_types(operator, &types)?;
        match &test {
            Test::In(choices) if choices.len() > CHOICES_MAX => Err(Fault::validation(format!(
                "The IN operator is provided with too many operands; number of operands: {}",
                choices.len()
            ))),
            Test::Between(low, high) if low.compare(high) == Some(Ordering::Greater) => {
                Err(Fault::validation(
                    "The BETWEEN condition was provided a range where the lower bound is greater \
                     than the upper bound",
                ))
            }
            _ => Ok(test),
        }
    }

    fn counted(operator: ComparisonOperator, arguments: Vec<Value>) -> Result<Test, Fault> {
        Ok(match operator {
            ComparisonOperator::Compare(comparison) => {
                let [value] = exactly(operator, arguments)?;
                Test::Compare(comparison, value)
            }
            ComparisonOperator::NotNull => {
                let [] = exactly(operator, arguments)?;
                Test::Exists
            }
            ComparisonOperator::Null => {
                let [] = exactly(operator, arguments)?;
                Test::Missing
            }
            ComparisonOperator::Contains => {
                let [value] = exactly(operator, arguments)?;
                Test::Contains(value)
            }
            ComparisonOperator::NotContains => {
                let [value] = exactly(operator, arguments)?;
                Test::NotContains(value)
            }
            ComparisonOperator::BeginsWith => {
                let [value] = exactly(operator, arguments)?;
                Test::BeginsWith(value)
            }
            ComparisonOperator::In if arguments.is_empty() => return Err(wrong_count(operator)),
            ComparisonOperator::In => Test::In(arguments),
            ComparisonOperator::Between => {
                let [low, high] = exactly(operator, arguments)?;
                Test::Between(low, high)
            }
        })
    }

    /// Returns the condition on the attribute. Unlike the negation of `contains`, `NOT_CONTAINS`
    /// does not hold for an attribute that is missing; `NE` does.
    pub(super) fn condition(self, name: &str) -> Condition {
        let path = || Path::new(Name::from(name));
        match self {
            Test::Compare(comparison, value) => Condition::compare(path(), comparison, value),
            Test::Exists => Condition::Exists(path()),
            Test::Missing => Condition::Missing(path()),
            Test::Contains(value) => Condition::Contains(path().into(), value.into()),
            Test::NotContains(value) => Condition::Exists(path())
                .and(Condition::Contains(path().into(), value.into()).not()),
            Test::BeginsWith(value) => Condition::BeginsWith(path().into(), value.into()),
            Test::In(values) => Condition::In {
                operand: path().into(),
                choices: values.into_iter().map(Operand::Value).collect(),
            },
            Test::Between(low, high) => {
                Condition::Between { operand: path().into(), low: low.into(), high: high.into() }
            }
        }
    }

    /// Returns the test on a key attribute; `None` if no index could find what it accepts.
    pub(super) fn key_test(self) -> Option<KeyTest> {
        match self {
            Test::Compare(comparison, value) => KeyTest::compare(comparison, value),
            Test::BeginsWith(value) => Some(KeyTest::BeginsWith(value)),
            Test::Between(low, high) => Some(KeyTest::Between(low, high)),
            Test::Exists
            | Test::Missing
            | Test::Contains(_)
            | Test::NotContains(_)
            | Test::In(_) => None,
        }
    }
}

fn exactly<const N: usize>(
    operator: ComparisonOperator,
    arguments: Vec<Value>,
) -> Result<[Value; N], Fault> {
    arguments.try_into().map_err(|_: Vec<Value>| wrong_count(operator))
}

fn wrong_count(operator: ComparisonOperator) -> Fault {
    Fault::parameter(format!(
        "Invalid number of argument(s) for the {} ComparisonOperator",
        operator.name()
    ))
}

fn check_types(operator: ComparisonOperator, types: &[ValueType]) -> Result<(), Fault> {
    if types.windows(2).any(|pair| matches!(pair, [left, right] if left != right)) {
        return Err(Fault::parameter(
            "AttributeValues inside AttributeValueList must be of same type",
        ));
    }
    match types.first().filter(|found| !operator.admits(**found)) {
        Some(found) => Err(Fault::parameter(format!(
            "ComparisonOperator {} is not valid for {found} AttributeValue type",
            operator.name()
        ))),
        None => Ok(()),
    }
}
