//! `TransactGetItems`.

use keyloom_store::{Consistency, Get, TransactGet};
use keyloom_value::{Item, Projection};

use crate::json::Writer;
use crate::units;
use crate::wire::{Fault, Reason, write_item};

use super::Endpoint;
use super::capacity::{self, Consumed, Detail, Use};
use super::expressions::Expressions;
use super::params::{Params, table_name};
use super::refusal::{self, RequestKind};
use super::scalar_keys::NestedPaths;
use super::violations::{CAPACITY, Violations};

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let detail = Detail::read(&params)?;
    let mut gets = read(params)?;
    for get in &gets {
        endpoint.check_visible(&get.table)?;
        let paths = NestedPaths::default().add_projection(get.projection.as_ref());
        endpoint.check_scalar_keys(&get.table, &paths).await?;
    }
    // Capacity counts whole items, whatever the projection.
    let projections: Vec<Option<Projection>> =
        gets.iter_mut().map(|get| get.projection.take()).collect();
    let shown = |place: usize, item: Item| match projections.get(place).and_then(Option::as_ref) {
        Some(projection) => projection.apply(&item),
        None => item,
    };
    send(endpoint, gets, detail, shown).await
}

/// Reads whole items, and writes the response with what `shown` makes of each, by its place.
pub(super) async fn send(
    endpoint: &Endpoint,
    gets: Vec<Get>,
    detail: Detail,
    shown: impl Fn(usize, Item) -> Item,
) -> Result<String, Fault> {
    let found = match endpoint.store.transact_get(TransactGet { gets: gets.clone() }).await {
        Ok(found) => found,
        Err(error) => return Err(refused(endpoint, &gets, error).await),
    };
    let mut consumed = Vec::new();
    for (get, item) in gets.iter().zip(&found) {
        let units = units::transact_read_units(item.as_ref().map_or(0, Item::size));
        capacity::merge(&mut consumed, Consumed::of_table(get.table.clone(), units));
    }
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Responses").list(|w| {
            for (place, item) in found.into_iter().enumerate() {
                w.object(|w| {
                    if let Some(item) = item {
                        write_item(w.name("Item"), &shown(place, item));
                    }
                });
            }
        });
        capacity::write_all(w, detail, &consumed, Use::TransactRead);
    });
    Ok(writer.finish())
}

/// An invalid key cancels the transaction, with a reason for that action.
async fn refused(endpoint: &Endpoint, gets: &[Get], error: keyloom_store::Error) -> Fault {
    let mut reasons = vec![Reason::NONE; gets.len()];
    if let keyloom_store::Error::Invalid(invalid) = &error {
        for (get, reason) in gets.iter().zip(&mut reasons) {
            if endpoint.store.get(get.clone()).await.is_err() {
                let table = endpoint.store.describe_table(get.table.clone()).await.ok();
                let spec = table.map(|table| table.spec);
                let text = refusal::invalid_message(spec.as_ref(), RequestKind::Key, invalid);
                *reason = Reason::validation(text);
                return Fault::canceled(reasons);
            }
        }
    }
    match gets.first() {
        Some(get) => {
            refusal::item_fault(endpoint, &get.table, RequestKind::Transaction, error).await
        }
        None => Fault::validation("TransactItems must not be empty"),
    }
}

fn read(params: Params<'_>) -> Result<Vec<Get>, Fault> {
    let elements = params.objects("TransactItems")?;
    let mut violations = Violations::default();
    let capacity = params.text("ReturnConsumedCapacity")?;
    violations.one_of("returnConsumedCapacity", capacity, CAPACITY);
    violations.required("transactItems", elements.is_some());
    if let Some(elements) = &elements {
        violations.transact_items(elements.len());
    }
    let mut gets = Vec::new();
    for (position, element) in elements.unwrap_or_default().into_iter().enumerate() {
        let at = |name: &str| format!("transactItems.{}.member.get{name}", position + 1);
        let get = element.object("Get")?;
        violations.required(&at(""), get.is_some());
        let Some(get) = get else { continue };
        violations.required(&at(".tableName"), get.text("TableName")?.is_some());
        violations.required(&at(".key"), get.has("Key"));
        gets.push(get);
    }
    violations.finish()?;
    gets.into_iter().map(read_get).collect()
}

fn read_get(get: Params<'_>) -> Result<Get, Fault> {
    let expressions = Expressions::read(&get, &["ProjectionExpression"])?;
    expressions.check()?;
    let key = get.item("Key")?.unwrap_or_else(|| Ok(Item::new())).map_err(Fault::validation)?;
    let mut parsing = expressions.parse()?;
    let projection = parsing.projection()?;
    parsing.finish()?;
    let table = table_name(get.text("TableName")?.unwrap_or_default())?;
    Ok(Get { table, key, projection, consistency: Consistency::Strong })
}
