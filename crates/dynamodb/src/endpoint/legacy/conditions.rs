//! Maps of conditions by attribute, which filters and key conditions share.

use std::collections::BTreeMap;

use keyloom_value::Value;

use crate::endpoint::params::{Checked, Params};
use crate::endpoint::violations::Violations;
use crate::wire::Fault;

use super::comparison_operator::{ComparisonOperator, NAMES};
use super::test::Test;

/// The conditions of one parameter, as sent.
pub(super) struct Conditions<'a> {
    /// The parameter in lower case, as constraints name it.
    at: &'static str,
    by_attribute: BTreeMap<&'a str, Sent<'a>>,
}

struct Sent<'a> {
    operator: Option<&'a str>,
    arguments: Option<Checked<Vec<Value>>>,
}

impl<'a> Conditions<'a> {
    /// Reads a parameter, if it is present.
    pub(super) fn read(
        params: &Params<'a>,
        parameter: &str,
        at: &'static str,
    ) -> Result<Option<Conditions<'a>>, Fault> {
        let Some(sent) = params.structures(parameter, "Condition")? else { return Ok(None) };
        let read = |(name, condition): (&'a str, Params<'a>)| {
            let operator = condition.text("ComparisonOperator")?;
            let arguments = condition.attribute_values("AttributeValueList")?;
            Ok((name, Sent { operator, arguments }))
        };
        let by_attribute = sent.into_iter().map(read).collect::<Result<_, Fault>>()?;
        Ok(Some(Conditions { at, by_attribute }))
    }

    pub(super) fn len(&self) -> usize {
        self.by_attribute.len()
    }

    pub(super) fn violations(&self, violations: &mut Violations) {
        for (name, sent) in &self.by_attribute {
            let at = format!("{}.{name}.member.comparisonOperator", self.at);
            violations.required(&at, sent.operator.is_some());
            violations.one_of(&at, sent.operator, NAMES);
        }
    }

    /// Returns the tests by attribute.
    pub(super) fn tests(self) -> Result<Vec<(&'a str, Test)>, Fault> {
        let test = |(name, sent): (&'a str, Sent<'a>)| {
            let arguments = sent.arguments.transpose().map_err(Fault::validation)?;
            let test = Test::new(operator(sent.operator)?, arguments.unwrap_or_default())?;
            Ok((name, test))
        };
        self.by_attribute.into_iter().map(test).collect()
    }
}

/// Returns the operator with a name that has passed its constraints.
pub(super) fn operator(name: Option<&str>) -> Result<ComparisonOperator, Fault> {
    let operator = name.and_then(ComparisonOperator::named);
    operator.ok_or_else(|| Fault::validation("Comparison type does not exist in DynamoDB"))
}
