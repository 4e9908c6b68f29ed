//! One action of a transaction.

use keyloom_store::{Check, Delete, Invalid, Put, TableSpec, TransactAction, UpdateItem};
use keyloom_value::{Item, Value};

use crate::wire::Fault;

use super::expressions::Expressions;
use super::params::{Params, table_name};
use super::refusal::RequestKind;
use super::returned::on_failure;
use super::violations::{ON_FAILURE, Violations};

/// The members that an element of `TransactItems` can have.
const KINDS: &[&str] = &["ConditionCheck", "Put", "Delete", "Update"];

/// Checks the constraints of one element.
pub(super) fn violations(
    violations: &mut Violations,
    position: usize,
    element: Params<'_>,
) -> Result<(), Fault> {
    for kind in KINDS {
        let Some(action) = element.object(kind)? else { continue };
        let mut member = kind.to_string();
        member[..1].make_ascii_lowercase();
        let at = |name: &str| format!("transactItems.{}.member.{member}.{name}", position + 1);
        let table = action.text("TableName")?;
        violations.required(&at("tableName"), table.is_some());
        let image = if *kind == "Put" { "Item" } else { "Key" };
        violations.required(&at(&image.to_ascii_lowercase()), action.has(image));
        if *kind == "ConditionCheck" {
            let is_present = action.has("ConditionExpression");
            violations.required(&at("conditionExpression"), is_present);
        }
        if *kind == "Update" {
            violations.required(&at("updateExpression"), action.has("UpdateExpression"));
        }
        let on_failure = action.text("ReturnValuesOnConditionCheckFailure")?;
        violations.one_of(&at("returnValuesOnConditionCheckFailure"), on_failure, ON_FAILURE);
    }
    Ok(())
}

/// Reads the action of an element that has passed its constraints.
pub(super) fn read(element: Params<'_>) -> Result<TransactAction, Fault> {
    let mut given = Vec::new();
    for kind in KINDS {
        if let Some(action) = element.object(kind)? {
            given.push((*kind, action));
        }
    }
    let [(kind, action)] = given.as_slice() else {
        return Err(Fault::validation(
            "TransactItems can only contain one of Check, Put, Update or Delete",
        ));
    };
    let parameters = match *kind {
        "Update" => &["UpdateExpression", "ConditionExpression"][..],
        _ => &["ConditionExpression"],
    };
    let expressions = Expressions::read(action, parameters)?;
    expressions.check()?;
    let image = action.item(if *kind == "Put" { "Item" } else { "Key" })?;
    let image = image.unwrap_or_else(|| Ok(Item::new())).map_err(Fault::validation)?;
    let mut parsing = expressions.parse()?;
    let update = parsing.update()?;
    let condition = parsing.condition("ConditionExpression")?;
    parsing.finish()?;
    let table = table_name(action.text("TableName")?.unwrap_or_default())?;
    let on_failure = on_failure(action)?;
    Ok(match (*kind, condition) {
        ("Put", condition) => {
            TransactAction::Put(Put { condition, on_failure, ..Put::new(&table, image) })
        }
        ("Update", condition) => TransactAction::Update(UpdateItem {
            condition,
            on_failure,
            ..UpdateItem::new(&table, image, update.unwrap_or_default())
        }),
        ("Delete", condition) => {
            TransactAction::Delete(Delete { condition, on_failure, ..Delete::new(&table, image) })
        }
        (_, Some(condition)) => {
            TransactAction::Check(Check { table, key: image, condition, on_failure })
        }
        (_, None) => return Err(Fault::validation("The expression can not be empty;")),
    })
}

/// Returns the item or key in the action.
pub(super) fn image(action: &TransactAction) -> &Item {
    match action {
        TransactAction::Put(put) => &put.item,
        TransactAction::Update(update) => &update.key,
        TransactAction::Delete(delete) => &delete.key,
        TransactAction::Check(check) => &check.key,
    }
}

/// Returns the kind of request that errors about the action refer to.
pub(super) fn request_kind(action: &TransactAction) -> RequestKind<'static> {
    match action {
        TransactAction::Put(_) => RequestKind::Item,
        TransactAction::Update(_) | TransactAction::Delete(_) | TransactAction::Check(_) => {
            RequestKind::Key
        }
    }
}

/// Returns whether the action is the one that breaks the rule and cancels the transaction. The
/// store reports only the rule. An empty key rejects the request instead of canceling it.
pub(super) fn breaks(spec: &TableSpec, action: &TransactAction, invalid: &Invalid) -> bool {
    let image = image(action);
    let value = |name: &keyloom_value::Name| image.get(name.as_str());
    let length = |name| match value(name) {
        Some(Value::S(text)) => Some(text.len()),
        Some(Value::B(bytes)) => Some(bytes.len()),
        _ => None,
    };
    match invalid {
        Invalid::KeyMissing { attribute } => spec.key.has(attribute) && value(attribute).is_none(),
        Invalid::KeyExtra { attribute } => {
            !matches!(action, TransactAction::Put(_))
                && !spec.key.has(attribute)
                && value(attribute).is_some()
        }
        Invalid::KeyType { attribute, found, .. } => {
            value(attribute).is_some_and(|value| value.value_type() == *found)
        }
        Invalid::KeyTooLong { attribute, bytes, .. } => length(attribute) == Some(*bytes),
        Invalid::ItemTooLarge { bytes, .. } => image.size() == *bytes,
        Invalid::UpdatesKey { attribute } => match action {
            TransactAction::Update(update) => {
                spec.key.has(attribute)
                    && update.update.paths().any(|path| path.root() == attribute)
            }
            TransactAction::Put(_) | TransactAction::Delete(_) | TransactAction::Check(_) => false,
        },
        _ => false,
    }
}
