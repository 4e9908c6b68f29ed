//! Requests about single items.

use keyloom_value::{Name, SetValue, Update};

use super::condition::condition;
use super::item::{item, key, part};
use crate::limits::UPDATE_OPERATORS_MAX;
use crate::{Check, Delete, Get, Invalid, Put, Returns, TableSpec, UpdateItem};

/// Checks a get.
pub(crate) fn get(spec: &TableSpec, get: &Get) -> Result<(), Invalid> {
    key(spec, &get.key)
}

/// Checks a put, independent of the stored item.
pub(crate) fn put(spec: &TableSpec, put: &Put) -> Result<(), Invalid> {
    condition(put.condition.as_ref())?;
    old_image_at_most(put.returns, "put")?;
    item(spec, &put.item)
}

/// Checks an update. Its result must be a valid [`item`] too.
pub(crate) fn update(spec: &TableSpec, update: &UpdateItem) -> Result<(), Invalid> {
    let operators = update.update.operators();
    if operators > UPDATE_OPERATORS_MAX {
        return Err(Invalid::UpdateTooLarge { operators, limit: UPDATE_OPERATORS_MAX });
    }
    update.update.check().map_err(Invalid::Update)?;
    constants(&update.update)?;
    condition(update.condition.as_ref())?;
    key(spec, &update.key)?;
    match update.update.paths().find(|path| spec.key.has(path.root())) {
        Some(path) => Err(Invalid::UpdatesKey { attribute: path.root().clone() }),
        None => Ok(()),
    }
}

/// Checks a delete, independent of the stored item.
pub(crate) fn delete(spec: &TableSpec, delete: &Delete) -> Result<(), Invalid> {
    condition(delete.condition.as_ref())?;
    old_image_at_most(delete.returns, "delete")?;
    key(spec, &delete.key)
}

/// Checks a condition check.
pub(crate) fn check(spec: &TableSpec, check: &Check) -> Result<(), Invalid> {
    condition(Some(&check.condition))?;
    key(spec, &check.key)
}

fn old_image_at_most(returns: Returns, write: &'static str) -> Result<(), Invalid> {
    match returns {
        Returns::Nothing | Returns::AllOld => Ok(()),
        Returns::UpdatedOld | Returns::AllNew | Returns::UpdatedNew => {
            Err(Invalid::Returns { write })
        }
    }
}

/// Checks the constants in an update. This is done here and not only for the result, because it
/// does not depend on the stored item.
fn constants(update: &Update) -> Result<(), Invalid> {
    for (path, value) in &update.set {
        set_constants(path.root(), value)?;
    }
    for (path, value) in update.add.iter().chain(&update.delete) {
        part(path.root(), value)?;
    }
    Ok(())
}

fn set_constants(attribute: &Name, value: &SetValue) -> Result<(), Invalid> {
    match value {
        SetValue::Value(value) => part(attribute, value),
        SetValue::Path(_) => Ok(()),
        SetValue::IfMissing(_, otherwise) => set_constants(attribute, otherwise),
        SetValue::Append(left, right)
        | SetValue::Plus(left, right)
        | SetValue::Minus(left, right) => {
            set_constants(attribute, left)?;
            set_constants(attribute, right)
        }
    }
}
