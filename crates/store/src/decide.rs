//! The effect of an action on the stored item.

use keyloom_value::{Condition, Item};

use crate::{CancelReason, Invalid, OnFailure, TableSpec, TransactAction, UpdateItem, validate};

/// Returns the item after the action, or why the action cannot be applied. The action has passed
/// validation.
pub(crate) fn decide(
    spec: &TableSpec,
    old: Option<&Item>,
    action: TransactAction,
) -> Result<Option<Item>, CancelReason> {
    let (condition, on_failure) = condition_of(&action);
    if condition.is_some_and(|condition| !condition.holds(old)) {
        let item = match on_failure {
            OnFailure::Nothing => None,
            OnFailure::ReturnItem => old.cloned().map(Box::new),
        };
        return Err(CancelReason::ConditionFailed { item });
    }
    match action {
        TransactAction::Put(put) => Ok(Some(put.item)),
        TransactAction::Update(update) if old.is_none() && update.update.only_removes() => Ok(None),
        TransactAction::Update(update) => match updated(spec, old, &update) {
            Ok(item) => Ok(Some(item)),
            Err(invalid) => Err(CancelReason::Invalid(invalid)),
        },
        TransactAction::Delete(_) => Ok(None),
        TransactAction::Check(_) => Ok(old.cloned()),
    }
}

fn condition_of(action: &TransactAction) -> (Option<&Condition>, OnFailure) {
    match action {
        TransactAction::Put(put) => (put.condition.as_ref(), put.on_failure),
        TransactAction::Update(update) => (update.condition.as_ref(), update.on_failure),
        TransactAction::Delete(delete) => (delete.condition.as_ref(), delete.on_failure),
        TransactAction::Check(check) => (Some(&check.condition), check.on_failure),
    }
}

/// An update of an item that does not exist starts from its key alone.
fn updated(spec: &TableSpec, old: Option<&Item>, update: &UpdateItem) -> Result<Item, Invalid> {
    let before = old.unwrap_or(&update.key);
    let after = update.update.apply(before).map_err(Invalid::Update)?;
    validate::item(spec, &after)?;
    Ok(after)
}
