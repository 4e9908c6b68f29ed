//! Limits of conditions, and the attributes they mention.

use keyloom_value::{Condition, Name, Operand, Path, Value};

use crate::Invalid;
use crate::limits::{CONDITION_OPERATORS_MAX, NESTING_MAX};

/// Checks that a condition or filter is small enough. Nesting counts like operators: a condition
/// that joins only one other has no operator, but still takes a stack frame.
pub(super) fn condition(condition: Option<&Condition>) -> Result<(), Invalid> {
    let Some(condition) = condition else { return Ok(()) };
    let operators = condition.operators().max(condition.depth());
    if operators > CONDITION_OPERATORS_MAX {
        return Err(Invalid::ConditionTooLarge { operators, limit: CONDITION_OPERATORS_MAX });
    }
    let mut mentions = Mentions::default();
    mentions.collect(condition);
    if mentions.constants.iter().any(|constant| constant.depth() > NESTING_MAX) {
        return Err(Invalid::TooDeep { limit: NESTING_MAX });
    }
    Ok(())
}

/// Returns the attributes that a condition mentions, in order, with repeats.
pub(crate) fn condition_names(condition: &Condition) -> Vec<&Name> {
    let mut mentions = Mentions::default();
    mentions.collect(condition);
    mentions.paths.into_iter().map(Path::root).collect()
}

/// The paths and constants in a condition.
#[derive(Default)]
struct Mentions<'a> {
    paths: Vec<&'a Path>,
    constants: Vec<&'a Value>,
}

impl<'a> Mentions<'a> {
    fn collect(&mut self, condition: &'a Condition) {
        match condition {
            Condition::Compare { left, right, .. }
            | Condition::BeginsWith(left, right)
            | Condition::Contains(left, right) => self.operands([left, right]),
            Condition::Between { operand, low, high } => self.operands([operand, low, high]),
            Condition::In { operand, choices } => {
                self.operands([operand]);
                self.operands(choices);
            }
            Condition::Exists(path) | Condition::Missing(path) | Condition::HasType(path, _) => {
                self.paths.push(path);
            }
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter().for_each(|part| self.collect(part));
            }
            Condition::Not(part) => self.collect(part),
        }
    }

    fn operands(&mut self, operands: impl IntoIterator<Item = &'a Operand>) {
        for operand in operands {
            match operand {
                Operand::Path(path) | Operand::Size(path) => self.paths.push(path),
                Operand::Value(value) => self.constants.push(value),
            }
        }
    }
}
