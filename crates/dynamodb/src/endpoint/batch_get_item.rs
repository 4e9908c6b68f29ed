//! `BatchGetItem`.

use keyloom_store::{BatchGet, BatchGot, Get, TableName};
use keyloom_value::{Item, Projection};

use crate::json::{Json, Writer};
use crate::units;
use crate::wire::{Fault, write_item};

use super::Endpoint;
use super::capacity::{self, Consumed, Detail, Use};
use super::expressions::Expressions;
use super::legacy::{self, AttributesToGet};
use super::params::{Params, checked_item, consistency, table_name};
use super::refusal::{self, RequestKind};
use super::scalar_keys::NestedPaths;
use super::violations::{CAPACITY, Violations};

/// Keys of a request.
const KEYS_MAX: usize = 100;

/// The gets of one table, which differ only in their keys.
struct TableGets<'a> {
    table: TableName,
    /// The name or ARN as sent: the response repeats it.
    sent: &'a str,
    gets: Vec<Get>,
    /// As sent, to be repeated in `UnprocessedKeys`.
    params: Params<'a>,
}

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let detail = Detail::read(&params)?;
    let tables = read(params)?;
    for table in &tables {
        endpoint.check_visible(&table.table)?;
        let paths = NestedPaths::default().add_projection(projection_of(table));
        endpoint.check_scalar_keys(&table.table, &paths).await?;
    }
    let mut batch = BatchGet { gets: tables.iter().flat_map(|t| t.gets.clone()).collect() };
    if detail.is_requested() {
        // Capacity counts whole items, whatever the projection.
        batch.gets.iter_mut().for_each(|get| get.projection = None);
    }
    let first = tables.first().map(|table| table.table.clone());
    let got = match (endpoint.store.batch_get(batch).await, first) {
        (Ok(got), _) => got,
        (Err(error), Some(table)) => {
            return Err(refusal::item_fault(endpoint, &table, RequestKind::BatchGet, error).await);
        }
        (Err(_), None) => BatchGot::default(),
    };
    Ok(response(&tables, detail, &got))
}

fn response(tables: &[TableGets<'_>], detail: Detail, got: &BatchGot) -> String {
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Responses").object(|w| {
            for table in tables {
                let projection = if detail.is_requested() { projection_of(table) } else { None };
                w.name(table.sent).list(|w| {
                    for item in items_of(&table.table, got) {
                        match projection {
                            Some(projection) => write_item(w, &projection.apply(item)),
                            None => write_item(w, item),
                        }
                    }
                });
            }
        });
        w.name("UnprocessedKeys").object(|w| {
            tables.iter().for_each(|table| write_unprocessed(w, table, &got.unprocessed));
        });
        let consumed: Vec<Consumed> = tables.iter().map(|table| consumed(table, got)).collect();
        capacity::write_all(w, detail, &consumed, Use::Plain);
    });
    writer.finish()
}

fn items_of<'a>(table: &TableName, got: &'a BatchGot) -> impl Iterator<Item = &'a Item> {
    let of_table = got.items.iter().filter(move |(name, _)| name == table);
    of_table.map(|(_, item)| item)
}

fn projection_of<'a>(table: &'a TableGets<'_>) -> Option<&'a Projection> {
    table.gets.first().and_then(|get| get.projection.as_ref())
}

/// Each item is rounded up separately; a missing item costs as much as a small one.
fn consumed(table: &TableGets<'_>, got: &BatchGot) -> Consumed {
    let consistency =
        table.gets.first().map_or(keyloom_store::Consistency::Eventual, |get| get.consistency);
    let units = |bytes| units::read_units(bytes, consistency);
    let found: f64 = items_of(&table.table, got).map(|item| units(item.size())).sum();
    let left = got.unprocessed.iter().filter(|get| get.table == table.table).count();
    let missing = table.gets.len() - left - items_of(&table.table, got).count();
    Consumed::of_table(table.table.clone(), found + missing as f64 * units(0))
}

fn write_unprocessed(w: &mut Writer, table: &TableGets<'_>, unprocessed: &[Get]) {
    let left = || unprocessed.iter().filter(|get| get.table == table.table);
    if left().next().is_none() {
        return;
    }
    w.name(table.sent).object(|w| {
        w.name("Keys").list(|w| left().for_each(|get| write_item(w, &get.key)));
        if let Ok(Some(text)) = table.params.text("ProjectionExpression") {
            w.name("ProjectionExpression").text(text);
        }
        if let Ok(Some(names)) = table.params.names("ExpressionAttributeNames") {
            w.name("ExpressionAttributeNames").object(|w| {
                names.iter().for_each(|(placeholder, name)| w.name(placeholder).text(name));
            });
        }
        if let Some(names) =
            AttributesToGet::read(&table.params).ok().as_ref().and_then(AttributesToGet::names)
        {
            let names = names.iter();
            w.name(AttributesToGet::PARAMETER).list(|w| names.for_each(|name| w.text(name)));
        }
        if let Ok(Some(boolean)) = table.params.boolean("ConsistentRead") {
            w.name("ConsistentRead").boolean(boolean);
        }
    });
}

fn read(params: Params<'_>) -> Result<Vec<TableGets<'_>>, Fault> {
    let tables: Option<Vec<(&str, &Json<'_>)>> =
        params.members("RequestItems")?.map(Iterator::collect);
    let mut violations = Violations::default();
    let capacity = params.text("ReturnConsumedCapacity")?;
    violations.one_of("returnConsumedCapacity", capacity, CAPACITY);
    violations.required("requestItems", tables.is_some());
    let tables = tables.unwrap_or_default();
    for (name, request) in &tables {
        let keys = Params::new(request)?.list("Keys")?;
        violations.required(&format!("requestItems.{name}.member.keys"), keys.is_some());
        let at = format!("requestItems.{name}.member.attributesToGet");
        AttributesToGet::read(&Params::new(request)?)?.violations(&at, &mut violations);
    }
    violations.finish()?;
    if tables.is_empty() {
        return Err(too_short("RequestItems"));
    }
    for (name, request) in &tables {
        let at = format!("RequestItems.{name}.member.Keys");
        match Params::new(request)?.list("Keys")?.map(<[_]>::len) {
            Some(0) => return Err(too_short(&at)),
            Some(count) if count > KEYS_MAX => {
                return Err(Fault::validation(format!(
                    "1 validation error detected: Value at '{at}' failed to satisfy constraint: \
                     Member must have length less than or equal to {KEYS_MAX}"
                )));
            }
            Some(_) | None => {}
        }
    }
    tables.into_iter().map(|(name, request)| table_gets(name, Params::new(request)?)).collect()
}

fn too_short(at: &str) -> Fault {
    Fault::validation(format!(
        "1 validation error detected: Value at '{at}' failed to satisfy constraint: Member must \
         have length greater than or equal to 1"
    ))
}

fn table_gets<'a>(name: &'a str, params: Params<'a>) -> Result<TableGets<'a>, Fault> {
    let table = table_name(name)?;
    let expressions = Expressions::read(&params, &["ProjectionExpression"])?;
    let attributes = AttributesToGet::read(&params)?;
    legacy::refuse_mixed(&params, &[AttributesToGet::PARAMETER], &expressions.given())?;
    expressions.check()?;
    let keys = params.list("Keys")?.unwrap_or_default().iter();
    let keys = keys.map(|key| checked_item(key)?.map_err(Fault::validation));
    let keys: Vec<Item> = keys.collect::<Result<_, Fault>>()?;
    let attributes = attributes.projection()?;
    let mut parsing = expressions.parse()?;
    let projection = parsing.projection()?.or(attributes);
    parsing.finish()?;
    let consistency = consistency(&params)?;
    let get = |key| Get { table: table.clone(), key, projection: projection.clone(), consistency };
    let gets = keys.into_iter().map(get).collect();
    Ok(TableGets { table, sent: name, gets, params })
}
