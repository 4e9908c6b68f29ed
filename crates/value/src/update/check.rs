//! Checks of an update that do not depend on the item.

use super::{SetValue, Update, UpdateError, UpdateOperator};
use crate::path::first_clash;
use crate::{Path, ValueType};

impl Update {
    /// Checks the update without an item: no two paths may overlap or conflict, and constants must
    /// have types that their operators accept. An update that changes nothing is valid.
    ///
    /// # Errors
    ///
    /// The first error. Such an update is invalid for every item.
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

/// Returns the type of the result, if it is the same for every item.
fn known_type(value: &SetValue) -> Option<ValueType> {
    match value {
        SetValue::Value(value) => Some(value.value_type()),
        SetValue::Path(_) | SetValue::IfMissing(..) => None,
        SetValue::Append(..) => Some(ValueType::L),
        SetValue::Plus(..) | SetValue::Minus(..) => Some(ValueType::N),
    }
}
