//! What is wrong with an update whatever the item.

use super::{SetValue, Update, UpdateError, UpdateOperator};
use crate::path::first_clash;
use crate::{Path, ValueType};

impl Update {
    /// Checks what can be checked without an item: that no two paths overlap or conflict, and
    /// that constants have the types their operators take. An update that changes nothing is
    /// fine.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong. Such an update is refused for every item.
    pub fn check(&self) -> Result<(), UpdateError> {
        if let Some(clash) = first_clash(self.paths()) {
            return Err(UpdateError::Clash(clash));
        }
        for (path, value) in &self.set {
            check_set(path, value)?;
        }
        for (path, value) in &self.add {
            check_operand(UpdateOperator::Add, path, value.value_type())?;
        }
        for (path, value) in &self.delete {
            check_operand(UpdateOperator::Delete, path, value.value_type())?;
        }
        Ok(())
    }
}

fn check_set(path: &Path, value: &SetValue) -> Result<(), UpdateError> {
    let (operator, left, right) = match value {
        SetValue::Value(_) | SetValue::Path(_) => return Ok(()),
        SetValue::IfMissing(_, value) => return check_set(path, value),
        SetValue::Append(left, right) => (UpdateOperator::Append, left, right),
        SetValue::Plus(left, right) => (UpdateOperator::Plus, left, right),
        SetValue::Minus(left, right) => (UpdateOperator::Minus, left, right),
    };
    for operand in [left, right] {
        check_set(path, operand)?;
        if let Some(found) = known_type(operand) {
            check_operand(operator, path, found)?;
        }
    }
    Ok(())
}

fn check_operand(
    operator: UpdateOperator,
    path: &Path,
    found: ValueType,
) -> Result<(), UpdateError> {
    let expected = operator.operand_types();
    if expected.contains(&found) {
        return Ok(());
    }
    Err(UpdateError::OperandType { operator, path: path.clone(), expected, found })
}

/// The type of the result, if it is the same for every item.
fn known_type(value: &SetValue) -> Option<ValueType> {
    match value {
        SetValue::Value(value) => Some(value.value_type()),
        SetValue::Path(_) | SetValue::IfMissing(..) => None,
        SetValue::Append(..) => Some(ValueType::L),
        SetValue::Plus(..) | SetValue::Minus(..) => Some(ValueType::N),
    }
}
