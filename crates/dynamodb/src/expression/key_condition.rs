//! Key conditions: a restricted form of conditions, which compares attributes with constants and
//! joins the comparisons with `AND`.

use keyloom_value::{Comparison, Condition, KeyCondition, KeyTest, Name, Operand, Path, Value};

use super::ExpressionError;

/// Converts a condition to a key condition.
pub(super) fn from_condition(condition: &Condition) -> Result<KeyCondition, ExpressionError> {
    let mut key = KeyCondition { tests: vec![] };
    collect(condition, &mut key)?;
    Ok(key)
}

fn collect(condition: &Condition, key: &mut KeyCondition) -> Result<(), ExpressionError> {
    let (name, test) = match condition {
        Condition::And(parts) => return parts.iter().try_for_each(|part| collect(part, key)),
        Condition::Compare { left, comparison, right } => compared(left, *comparison, right)?,
        Condition::Between { operand, low, high } => {
            let name = first_operand("BETWEEN", operand)?;
            (name, KeyTest::Between(constant(low)?, constant(high)?))
        }
        Condition::BeginsWith(operand, prefix) => {
            (first_operand("begins_with", operand)?, KeyTest::BeginsWith(constant(prefix)?))
        }
        Condition::In { .. } => return invalid_operator("IN"),
        Condition::Or(_) => return invalid_operator("OR"),
        Condition::Not(_) => return invalid_operator("NOT"),
        Condition::Exists(_) => return invalid_operator("attribute_exists"),
        Condition::Missing(_) => return invalid_operator("attribute_not_exists"),
        Condition::HasType(..) => return invalid_operator("attribute_type"),
        Condition::Contains(..) => return invalid_operator("contains"),
    };
    if key.tests.iter().any(|(tested, _)| *tested == name) {
        return refuse("KeyConditionExpressions must only contain one condition per key");
    }
    key.tests.push((name, test));
    Ok(())
}

/// Normalizes `:value < name` to `name > :value`.
fn compared(
    left: &Operand,
    comparison: Comparison,
    right: &Operand,
) -> Result<(Name, KeyTest), ExpressionError> {
    let (name, comparison, value) = match (left, right) {
        (Operand::Size(_), _) | (_, Operand::Size(_)) => {
            return refuse("KeyConditionExpressions cannot contain nested operations");
        }
        (Operand::Path(_), Operand::Path(_)) => {
            return refuse(
                "Invalid condition in KeyConditionExpression: Multiple attribute names used in \
                 one condition",
            );
        }
        (Operand::Value(_), Operand::Value(_)) => {
            return refuse(
                "Invalid condition in KeyConditionExpression: No key attribute specified",
            );
        }
        (Operand::Path(path), Operand::Value(value)) => (attribute(path)?, comparison, value),
        (Operand::Value(value), Operand::Path(path)) => {
            (attribute(path)?, comparison.mirrored(), value)
        }
    };
    match KeyTest::compare(comparison, value.clone()) {
        Some(test) => Ok((name, test)),
        None => invalid_operator("<>"),
    }
}

fn first_operand(operator: &str, operand: &Operand) -> Result<Name, ExpressionError> {
    match operand {
        Operand::Path(path) => attribute(path),
        Operand::Size(_) => refuse("KeyConditionExpressions cannot contain nested operations"),
        Operand::Value(_) => refuse(format!(
            "Invalid condition in KeyConditionExpression: {operator} operator must have the key \
             attribute as its first operand"
        )),
    }
}

fn constant(operand: &Operand) -> Result<Value, ExpressionError> {
    match operand {
        Operand::Value(value) => Ok(value.clone()),
        Operand::Size(_) => refuse("KeyConditionExpressions cannot contain nested operations"),
        Operand::Path(_) => refuse(
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one \
             condition",
        ),
    }
}

fn attribute(path: &Path) -> Result<Name, ExpressionError> {
    if path.steps().is_empty() {
        return Ok(path.root().clone());
    }
    refuse("KeyConditionExpressions cannot have conditions on nested attributes")
}

fn invalid_operator<T>(operator: &str) -> Result<T, ExpressionError> {
    refuse(format!("Invalid operator used in KeyConditionExpression: {operator}"))
}

fn refuse<T>(message: impl Into<String>) -> Result<T, ExpressionError> {
    Err(ExpressionError::new(message))
}
