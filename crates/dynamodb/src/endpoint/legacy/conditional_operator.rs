//! `ConditionalOperator`: how the conditions of one parameter are joined.

use keyloom_value::Condition;

use crate::endpoint::params::Params;
use crate::endpoint::violations::Violations;
use crate::wire::Fault;

/// The operator, as sent.
#[derive(Clone, Copy)]
pub(super) struct ConditionalOperator<'a> {
    name: Option<&'a str>,
}

impl<'a> ConditionalOperator<'a> {
    pub(super) fn read(params: &Params<'a>) -> Result<ConditionalOperator<'a>, Fault> {
        Ok(ConditionalOperator { name: params.text("ConditionalOperator")? })
    }

    pub(super) fn violations(self, violations: &mut Violations) {
        violations.one_of("conditionalOperator", self.name, &["OR", "AND"]);
    }

    /// Rejects the operator if there are not at least two conditions to join.
    pub(super) fn check(self, conditions: usize) -> Result<(), Fault> {
        match conditions {
            _ if self.name.is_none() => Ok(()),
            0 => Err(Fault::validation(
                "ConditionalOperator cannot be used without Filter or Expected",
            )),
            1 => Err(Fault::validation(
                "ConditionalOperator can only be used when Filter or Expected has two or more \
                 elements",
            )),
            _ => Ok(()),
        }
    }

    /// Joins conditions; without an operator, all of them must hold.
    pub(super) fn join(self, mut conditions: Vec<Condition>) -> Option<Condition> {
        if conditions.len() < 2 {
            return conditions.pop();
        }
        Some(match self.name {
            Some("OR") => Condition::Or(conditions),
            _ => Condition::And(conditions),
        })
    }
}
