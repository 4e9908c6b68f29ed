//! `UpdateItem`.

use keyloom_store::{Returns, UpdateItem};
use keyloom_value::{Item, Update};

use crate::json::Writer;
use crate::wire::Fault;

use super::Endpoint;
use super::capacity::Consumed;
use super::expressions::Expressions;
use super::legacy::{self, AttributeUpdates, Expected};
use super::params::{Params, table_name};
use super::refusal::{self, RequestKind};
use super::returned::{self, on_failure, write_attributes};
use super::scalar_keys::NestedPaths;
use super::violations::enveloped;
use super::write_params::{WriteExtras, write_violations};

/// The parameters that expressions replaced, in the service's order.
const LEGACY: &[&str] = &[AttributeUpdates::PARAMETER, "Expected", "ConditionalOperator"];

/// Whether the update is an expression. The service words some errors differently if it is not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Expression,
    Legacy,
}

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let extras = WriteExtras::read(&params)?;
    let form = match params.has(AttributeUpdates::PARAMETER) {
        true => Form::Legacy,
        false => Form::Expression,
    };
    let update = read(params).map_err(enveloped)?;
    endpoint.check_visible(&update.table)?;
    let paths = NestedPaths::default().add_condition(update.condition.as_ref());
    let paths = paths.add(update.update.paths());
    endpoint.check_scalar_keys(&update.table, &paths).await?;
    let mut writer = Writer::new();
    if !extras.is_requested() {
        let image = send(endpoint, update, form).await?;
        writer.object(|w| write_attributes(w, image.as_ref()));
        return Ok(writer.finish());
    }
    let (table, key, changes) = (update.table.clone(), update.key.clone(), update.update.clone());
    let returns = update.returns;
    let old = send(endpoint, UpdateItem { returns: Returns::AllOld, ..update }, form).await?;
    let new = updated(&changes, old.as_ref(), &key);
    let spec = refusal::describe(endpoint, &table).await?.spec;
    let image = new.as_ref().and_then(|new| returns.of_update(&changes, old.as_ref(), new));
    writer.object(|w| {
        write_attributes(w, image.as_ref());
        let consumed = Consumed::of_write(&spec, old.as_ref(), new.as_ref());
        extras.write(w, &consumed, &spec, &key);
    });
    Ok(writer.finish())
}

/// Applies the update to the old item again. It cannot fail: the store has applied it once.
pub(super) fn updated(update: &Update, old: Option<&Item>, key: &Item) -> Option<Item> {
    if old.is_none() && update.only_removes() {
        return None;
    }
    let before = old.unwrap_or(key);
    Some(update.apply(before).unwrap_or_else(|_| before.clone()))
}

async fn send(endpoint: &Endpoint, update: UpdateItem, form: Form) -> Result<Option<Item>, Fault> {
    let table = update.table.clone();
    let error = match endpoint.store.update(update).await {
        Ok(image) => return Ok(image),
        Err(error) => error,
    };
    match AttributeUpdates::fault(&error) {
        Some(fault) if form == Form::Legacy => Err(fault),
        _ => Err(refusal::item_fault(endpoint, &table, RequestKind::Update, error).await),
    }
}

fn read(params: Params<'_>) -> Result<UpdateItem, Fault> {
    let key = params.item("Key")?;
    let expressions = Expressions::read(&params, &["UpdateExpression", "ConditionExpression"])?;
    let (updates, expected) = (AttributeUpdates::read(&params)?, Expected::read(&params)?);
    let mut violations = write_violations(&params)?;
    violations.required("key", key.is_some());
    updates.violations(&mut violations);
    expected.violations(&mut violations);
    violations.finish()?;
    legacy::refuse_mixed(&params, LEGACY, &expressions.given())?;
    expressions.check()?;
    expected.check_operator()?;
    let key = key.unwrap_or_else(|| Ok(Item::new())).map_err(Fault::validation)?;
    let (updates, expected) = (updates.update()?, expected.condition()?);
    let mut parsing = expressions.parse()?;
    let update = parsing.update()?.unwrap_or(updates);
    let condition = parsing.condition("ConditionExpression")?.or(expected);
    parsing.finish()?;
    let table = table_name(params.text("TableName")?.unwrap_or_default())?;
    let returns = returned::returns(&params)?;
    Ok(UpdateItem { table, key, update, condition, returns, on_failure: on_failure(&params)? })
}
