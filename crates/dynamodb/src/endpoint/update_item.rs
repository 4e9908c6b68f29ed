//! `UpdateItem`.

use keyloom_store::{Returns, UpdateItem};
use keyloom_value::{Item, Update};

use crate::json::Writer;
use crate::wire::Fault;

use super::Endpoint;
use super::capacity::Consumed;
use super::expressions::Expressions;
use super::params::{Params, refuse_legacy, table_name};
use super::refusal::{self, RequestKind};
use super::returned::{self, on_failure, write_attributes};
use super::scalar_keys::NestedPaths;
use super::violations::enveloped;
use super::write_params::{WriteExtras, write_violations};

const LEGACY: &[(&str, &str)] = &[
    ("AttributeUpdates", "UpdateExpression"),
    ("Expected", "ConditionExpression"),
    ("ConditionalOperator", "ConditionExpression"),
];

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let extras = WriteExtras::read(&params)?;
    let update = read(params).map_err(enveloped)?;
    endpoint.check_visible(&update.table)?;
    let paths = NestedPaths::default().add_condition(update.condition.as_ref());
    let paths = paths.add(update.update.paths());
    endpoint.check_scalar_keys(&update.table, &paths).await?;
    let mut writer = Writer::new();
    if !extras.is_requested() {
        let image = send(endpoint, update).await?;
        writer.object(|w| write_attributes(w, image.as_ref()));
        return Ok(writer.finish());
    }
    let (table, key, changes) = (update.table.clone(), update.key.clone(), update.update.clone());
    let returns = update.returns;
    let old = send(endpoint, UpdateItem { returns: Returns::AllOld, ..update }).await?;
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

async fn send(endpoint: &Endpoint, update: UpdateItem) -> Result<Option<Item>, Fault> {
    let table = update.table.clone();
    match endpoint.store.update(update).await {
        Ok(image) => Ok(image),
        Err(error) => Err(refusal::item_fault(endpoint, &table, RequestKind::Update, error).await),
    }
}

fn read(params: Params<'_>) -> Result<UpdateItem, Fault> {
    let key = params.item("Key")?;
    let expressions = Expressions::read(&params, &["UpdateExpression", "ConditionExpression"])?;
    let mut violations = write_violations(&params)?;
    violations.required("key", key.is_some());
    violations.finish()?;
    refuse_legacy(&params, LEGACY)?;
    expressions.check()?;
    let key = key.unwrap_or_else(|| Ok(Item::new())).map_err(Fault::validation)?;
    let mut parsing = expressions.parse()?;
    let update = parsing.update()?.unwrap_or_default();
    let condition = parsing.condition("ConditionExpression")?;
    parsing.finish()?;
    let table = table_name(params.text("TableName")?.unwrap_or_default())?;
    let returns = returned::returns(&params)?;
    Ok(UpdateItem { table, key, update, condition, returns, on_failure: on_failure(&params)? })
}
