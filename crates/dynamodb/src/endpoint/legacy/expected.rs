//! `Expected`: the condition of a write, in two forms: a value, or a comparison with values.

use std::collections::BTreeMap;

use keyloom_value::{Comparison, Condition, Value};

use crate::endpoint::params::{Checked, Params};
use crate::endpoint::violations::Violations;
use crate::wire::Fault;

use super::comparison_operator::NAMES;
use super::conditional_operator::ConditionalOperator;
use super::conditions::operator;
use super::test::Test;

/// `Expected` with `ConditionalOperator`, as sent.
pub(crate) struct Expected<'a> {
    by_attribute: BTreeMap<&'a str, Sent<'a>>,
    operator: ConditionalOperator<'a>,
}

struct Sent<'a> {
    operator: Option<&'a str>,
    arguments: Option<Checked<Vec<Value>>>,
    exists: Option<bool>,
    value: Option<Checked<Value>>,
}

impl<'a> Expected<'a> {
    /// The parameters that it reads.
    pub(crate) const PARAMETERS: &'static [&'static str] = &["Expected", "ConditionalOperator"];

    pub(crate) fn read(params: &Params<'a>) -> Result<Expected<'a>, Fault> {
        let sent = params.structures("Expected", "ExpectedAttributeValue")?.unwrap_or_default();
        let read = |(name, params): (&'a str, Params<'a>)| Ok((name, Sent::read(params)?));
        Ok(Expected {
            by_attribute: sent.into_iter().map(read).collect::<Result<_, Fault>>()?,
            operator: ConditionalOperator::read(params)?,
        })
    }

    pub(crate) fn violations(&self, violations: &mut Violations) {
        self.operator.violations(violations);
        for (name, sent) in &self.by_attribute {
            let at = format!("expected.{name}.member.comparisonOperator");
            violations.one_of(&at, sent.operator, NAMES);
        }
    }

    pub(crate) fn check_operator(&self) -> Result<(), Fault> {
        self.operator.check(self.by_attribute.len())
    }

    pub(crate) fn condition(self) -> Result<Option<Condition>, Fault> {
        let test = |(name, sent): (&'a str, Sent<'a>)| Ok(sent.test(name)?.condition(name));
        let conditions = self.by_attribute.into_iter().map(test).collect::<Result<_, Fault>>()?;
        Ok(self.operator.join(conditions))
    }
}

impl<'a> Sent<'a> {
    fn read(params: Params<'a>) -> Result<Sent<'a>, Fault> {
        Ok(Sent {
            operator: params.text("ComparisonOperator")?,
            arguments: params.attribute_values("AttributeValueList")?,
            exists: params.boolean("Exists")?,
            value: params.attribute_value("Value")?,
        })
    }

    fn test(self, attribute: &str) -> Result<Test, Fault> {
        if self.arguments.is_some() && self.value.is_some() {
            return refuse("Value and AttributeValueList cannot be used together", attribute);
        }
        match self.operator {
            Some(name) => self.compared(name, attribute),
            None if self.arguments.is_some() => {
                refuse("AttributeValueList can only be used with a ComparisonOperator", attribute)
            }
            None => self.equal(attribute),
        }
    }

    /// The form with an operator. One argument can be a `Value`.
    fn compared(self, name: &str, attribute: &str) -> Result<Test, Fault> {
        if self.exists.is_some() {
            return refuse("Exists and ComparisonOperator cannot be used together", attribute);
        }
        let is_alone = self.arguments.is_none() && self.value.is_none();
        if is_alone && !matches!(name, "NULL" | "NOT_NULL") {
            let why =
                format!("Value or AttributeValueList must be used with ComparisonOperator: {name}");
            return refuse(&why, attribute);
        }
        let arguments = match (self.arguments, self.value) {
            (Some(arguments), _) => arguments.map_err(Fault::validation)?,
            (None, Some(value)) => vec![value.map_err(Fault::validation)?],
            (None, None) => vec![],
        };
        Test::new(operator(Some(name))?, arguments)
    }

    /// The form without an operator. `Exists` says no more than whether there is a value.
    fn equal(self, attribute: &str) -> Result<Test, Fault> {
        match (self.exists, self.value) {
            (Some(false), None) => Ok(Test::Missing),
            (Some(false), Some(_)) => {
                refuse("Value cannot be used when Exists is false", attribute)
            }
            (None | Some(true), Some(value)) => {
                Ok(Test::Compare(Comparison::Equal, value.map_err(Fault::validation)?))
            }
            (None, None) => refuse("Value must be provided when Exists is null", attribute),
            (Some(true), None) => refuse("Value must be provided when Exists is true", attribute),
        }
    }
}

fn refuse<T>(why: &str, attribute: &str) -> Result<T, Fault> {
    Err(Fault::parameter(format!("{why} for Attribute: {attribute}")))
}
