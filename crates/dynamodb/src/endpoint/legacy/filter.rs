//! `QueryFilter` and `ScanFilter`.

use keyloom_value::Condition;

use crate::endpoint::params::Params;
use crate::endpoint::violations::Violations;
use crate::wire::Fault;

use super::conditional_operator::ConditionalOperator;
use super::conditions::Conditions;

/// A filter with `ConditionalOperator`, as sent.
pub(crate) struct Filter<'a> {
    conditions: Option<Conditions<'a>>,
    operator: ConditionalOperator<'a>,
}

impl<'a> Filter<'a> {
    /// Reads `QueryFilter`.
    pub(crate) fn of_query(params: &Params<'a>) -> Result<Filter<'a>, Fault> {
        let conditions = Conditions::read(params, "QueryFilter", "queryFilter")?;
        Ok(Filter { conditions, operator: ConditionalOperator::read(params)? })
    }

    /// Reads `ScanFilter`.
    pub(crate) fn of_scan(params: &Params<'a>) -> Result<Filter<'a>, Fault> {
        let conditions = Conditions::read(params, "ScanFilter", "scanFilter")?;
        Ok(Filter { conditions, operator: ConditionalOperator::read(params)? })
    }

    pub(crate) fn is_present(&self) -> bool {
        self.conditions.is_some()
    }

    pub(crate) fn violations(&self, violations: &mut Violations) {
        if let Some(conditions) = &self.conditions {
            conditions.violations(violations);
        }
        self.operator.violations(violations);
    }

    pub(crate) fn check_operator(&self) -> Result<(), Fault> {
        self.operator.check(self.conditions.as_ref().map_or(0, Conditions::len))
    }

    pub(crate) fn condition(self) -> Result<Option<Condition>, Fault> {
        let Some(conditions) = self.conditions else { return Ok(None) };
        let tests = conditions.tests()?.into_iter();
        Ok(self.operator.join(tests.map(|(name, test)| test.condition(name)).collect()))
    }
}
