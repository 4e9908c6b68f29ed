//! `KeyConditions`: the range that a query reads.

use keyloom_value::{KeyCondition, KeyTest, Name, Value};

use crate::endpoint::params::Params;
use crate::endpoint::violations::Violations;
use crate::wire::Fault;

use super::conditions::Conditions;

/// The most attributes of a key outside of indexes.
const OF_TABLE_MAX: usize = 2;

/// `KeyConditions`, as sent.
pub(crate) struct KeyConditions<'a> {
    conditions: Option<Conditions<'a>>,
}

/// Key conditions, all of which are valid tests.
pub(crate) struct QueryKey {
    pub(crate) condition: KeyCondition,
    /// Whether an operator is one that no index supports. The service reports that after it has
    /// found the table, so such a test is in the condition as one that no key attribute admits.
    pub(crate) is_unindexable: bool,
}

impl<'a> KeyConditions<'a> {
    pub(crate) fn read(params: &Params<'a>) -> Result<KeyConditions<'a>, Fault> {
        let conditions = Conditions::read(params, "KeyConditions", "keyConditions")?;
        Ok(KeyConditions { conditions })
    }

    pub(crate) fn violations(&self, violations: &mut Violations) {
        if let Some(conditions) = &self.conditions {
            conditions.violations(violations);
        }
    }

    /// Returns the range; an index can have more key attributes than a table.
    pub(crate) fn range(self, has_index: bool) -> Result<Option<QueryKey>, Fault> {
        let Some(conditions) = self.conditions else { return Ok(None) };
        let tests = conditions.tests()?;
        if tests.is_empty() || (tests.len() > OF_TABLE_MAX && !has_index) {
            return Err(Fault::validation("Conditions can be of length 1 or 2 only"));
        }
        let mut range =
            QueryKey { condition: KeyCondition { tests: vec![] }, is_unindexable: false };
        for (name, test) in tests {
            let test = test.key_test();
            range.is_unindexable |= test.is_none();
            let test = test.unwrap_or(KeyTest::Equal(Value::Null));
            range.condition.tests.push((Name::from(name), test));
        }
        Ok(Some(range))
    }
}
