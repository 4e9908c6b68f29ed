//! Applies updates: first computes every result from the old item, then writes all of them. So no
//! part of an update sees what another part wrote.

use super::write::{Change, write};
use super::{SetValue, Update, UpdateError, UpdateOperator};
use crate::{Item, Number, NumberError, Path, Value, ValueType};

impl Update {
    /// Returns the item after the update.
    ///
    /// Removing a missing value, or deleting from a missing set, changes nothing, but the map or list
    /// that would contain it must exist. All indexes refer to the old lists.
    ///
    /// # Errors
    ///
    /// If [`Update::check`] fails, if the item lacks a value that is read or a map or list that
    /// is written into, if a value of the item has the wrong type, or if a sum is not a number
    /// that can be stored.
    pub fn apply(&self, item: &Item) -> Result<Item, UpdateError> {
        self.check()?;
        let mut changes = self.changes(item)?;
        changes.sort_unstable_by_key(|change| change.path);
        let mut updated = item.clone();
        write(&mut updated, &mut changes)?;
        Ok(updated)
    }

    fn changes(&self, item: &Item) -> Result<Vec<Change<'_>>, UpdateError> {
        let mut changes = Vec::new();
        for (path, value) in &self.set {
            changes.push(Change { path, value: Some(evaluate(value, path, item)?) });
        }
        for path in &self.remove {
            changes.push(Change { path, value: None });
        }
        for (path, value) in &self.add {
            changes.push(Change { path, value: Some(added(path, value, item)?) });
        }
        for (path, value) in &self.delete {
            changes.push(Change { path, value: deleted(path, value, item)? });
        }
        Ok(changes)
    }
}

fn evaluate(value: &SetValue, target: &Path, item: &Item) -> Result<Value, UpdateError> {
    match value {
        SetValue::Value(value) => Ok(value.clone()),
        SetValue::Path(path) => path
            .get(item)
            .cloned()
            .ok_or_else(|| UpdateError::MissingOperand { path: path.clone() }),
        SetValue::IfMissing(path, default) => match path.get(item) {
            Some(value) => Ok(value.clone()),
            None => evaluate(default, target, item),
        },
        SetValue::Append(left, right) => {
            let mut list = evaluate_list(left, target, item)?;
            list.append(&mut evaluate_list(right, target, item)?);
            Ok(Value::L(list))
        }
        SetValue::Plus(left, right) => {
            let left = evaluate_number(UpdateOperator::Plus, left, target, item)?;
            let right = evaluate_number(UpdateOperator::Plus, right, target, item)?;
            number_result(target, left.checked_add(&right))
        }
        SetValue::Minus(left, right) => {
            let left = evaluate_number(UpdateOperator::Minus, left, target, item)?;
            let right = evaluate_number(UpdateOperator::Minus, right, target, item)?;
            number_result(target, left.checked_sub(&right))
        }
    }
}

fn evaluate_list(value: &SetValue, target: &Path, item: &Item) -> Result<Vec<Value>, UpdateError> {
    match evaluate(value, target, item)? {
        Value::L(elements) => Ok(elements),
        other => Err(stored_type(UpdateOperator::Append, target, &[ValueType::L], &other)),
    }
}

fn evaluate_number(
    operator: UpdateOperator,
    value: &SetValue,
    target: &Path,
    item: &Item,
) -> Result<Number, UpdateError> {
    match evaluate(value, target, item)? {
        Value::N(number) => Ok(number),
        other => Err(stored_type(operator, target, &[ValueType::N], &other)),
    }
}

fn number_result(path: &Path, result: Result<Number, NumberError>) -> Result<Value, UpdateError> {
    result.map(Value::N).map_err(|error| UpdateError::Number { path: path.clone(), error })
}

/// Returns the value at the path after `ADD`.
fn added(path: &Path, operand: &Value, item: &Item) -> Result<Value, UpdateError> {
    let Some(old) = path.get(item) else {
        return Ok(operand.clone());
    };
    match (old, operand) {
        (Value::N(old), Value::N(number)) => number_result(path, old.checked_add(number)),
        (Value::Ss(old), Value::Ss(texts)) => Ok(Value::Ss(old | texts)),
        (Value::Ns(old), Value::Ns(numbers)) => Ok(Value::Ns(old | numbers)),
        (Value::Bs(old), Value::Bs(byte_strings)) => Ok(Value::Bs(old | byte_strings)),
        _ => Err(stored_type(UpdateOperator::Add, path, same_type(operand), old)),
    }
}

/// Returns the value at the path after `DELETE`.
fn deleted(path: &Path, operand: &Value, item: &Item) -> Result<Option<Value>, UpdateError> {
    let Some(old) = path.get(item) else {
        return Ok(None);
    };
    match (old, operand) {
        (Value::Ss(old), Value::Ss(texts)) => {
            let left = old - texts;
            Ok((!left.is_empty()).then_some(Value::Ss(left)))
        }
        (Value::Ns(old), Value::Ns(numbers)) => {
            let left = old - numbers;
            Ok((!left.is_empty()).then_some(Value::Ns(left)))
        }
        (Value::Bs(old), Value::Bs(byte_strings)) => {
            let left = old - byte_strings;
            Ok((!left.is_empty()).then_some(Value::Bs(left)))
        }
        _ => Err(stored_type(UpdateOperator::Delete, path, same_type(operand), old)),
    }
}

/// Returns the only type of stored value that `ADD` or `DELETE` with this operand can change.
fn same_type(operand: &Value) -> &'static [ValueType] {
    match operand {
        Value::N(_) => &[ValueType::N],
        Value::Ss(_) => &[ValueType::Ss],
        Value::Ns(_) => &[ValueType::Ns],
        Value::Bs(_) => &[ValueType::Bs],
        // `check` has rejected these.
        Value::S(_) | Value::B(_) | Value::Bool(_) | Value::Null | Value::L(_) | Value::M(_) => &[],
    }
}

fn stored_type(
    operator: UpdateOperator,
    path: &Path,
    expected: &'static [ValueType],
    found: &Value,
) -> UpdateError {
    UpdateError::StoredType { operator, path: path.clone(), expected, found: found.value_type() }
}
