//! Limits of conditions, and the attributes they mention.

use keyloom_value::{Condition, Name, Path};

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
    if condition.mentions().constants.iter().any(|constant| constant.depth() > NESTING_MAX) {
        return Err(Invalid::TooDeep { limit: NESTING_MAX });
    }
    Ok(())
}

/// Returns the attributes that a condition mentions, in order, with repeats.
pub(crate) fn condition_names(condition: &Condition) -> Vec<&Name> {
    condition.mentions().paths.into_iter().map(Path::root).collect()
}
