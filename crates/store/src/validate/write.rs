//! Requests about one item.

use keyloom_value::{Name, SetValue, Update};

use super::condition::condition;
use super::item::{item, key, part};
use crate::limits::UPDATE_OPERATORS_MAX;
use crate::{Check, Delete, Get, Invalid, Put, Returns, TableSpec, UpdateItem};

/// Whether the item can be asked for.
pub(crate) fn get(spec: &TableSpec, get: &Get) -> Result<(), Invalid> {
    key(spec, &get.key)
}

/// Whether the item can be written, whatever is there.
pub(crate) fn put(spec: &TableSpec, put: &Put) -> Result<(), Invalid> {
    condition(put.condition.as_ref())?;
    old_image_at_most(put.returns, "put")?;
    item(spec, &put.item)
}

/// Whether the update can be tried. Its result must be an [`item`] of the table too.
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

/// Whether the item can be deleted, whatever it is.
pub(crate) fn delete(spec: &TableSpec, delete: &Delete) -> Result<(), Invalid> {
    condition(delete.condition.as_ref())?;
    old_image_at_most(delete.returns, "delete")?;
    key(spec, &delete.key)
}

/// Whether the condition can be checked.
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

/// The values that an update brings along can be part of an item. Said here and not only of the
/// result, because it does not depend on the item.
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
