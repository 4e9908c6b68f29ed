//! `GetItem`.

use keyloom_store::Get;

use crate::json::Writer;
use crate::units;
use crate::wire::{Fault, write_item};

use super::Endpoint;
use super::capacity::{self, Consumed, Detail};
use super::expressions::Expressions;
use super::legacy::{self, AttributesToGet};
use super::params::{Params, consistency, table_name};
use super::refusal::{self, RequestKind};
use super::scalar_keys::NestedPaths;
use super::violations::{CAPACITY, Violations};

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let detail = Detail::read(&params)?;
    let mut get = read(params)?;
    let (table, consistency) = (get.table.clone(), get.consistency);
    let paths = NestedPaths::default().add_projection(get.projection.as_ref());
    endpoint.check_scalar_keys(&table, &paths).await?;
    // Capacity counts the whole item, whatever the projection.
    let projection = if detail.is_requested() { get.projection.take() } else { None };
    let found = endpoint.get(get).await?;
    let bytes = found.as_ref().map_or(0, keyloom_value::Item::size);
    let item = match projection {
        Some(projection) => found.map(|item| projection.apply(&item)),
        None => found,
    };
    let mut writer = Writer::new();
    writer.object(|w| {
        if let Some(item) = &item {
            write_item(w.name("Item"), item);
        }
        let units = units::read_units(bytes, consistency);
        capacity::write_one(w, detail, &Consumed::of_table(table, units));
    });
    Ok(writer.finish())
}

impl Endpoint {
    async fn get(&self, get: Get) -> Result<Option<keyloom_value::Item>, Fault> {
        let table = get.table.clone();
        self.check_visible(&table)?;
        match self.store.get(get).await {
            Ok(item) => Ok(item),
            Err(error) => Err(refusal::item_fault(self, &table, RequestKind::Key, error).await),
        }
    }
}

fn read(params: Params<'_>) -> Result<Get, Fault> {
    let table = params.text("TableName")?;
    let key = params.item("Key")?;
    let consistency = consistency(&params)?;
    let expressions = Expressions::read(&params, &["ProjectionExpression"])?;
    let attributes = AttributesToGet::read(&params)?;
    let mut violations = Violations::default();
    violations.one_of("returnConsumedCapacity", params.text("ReturnConsumedCapacity")?, CAPACITY);
    violations.table_name(table);
    violations.required("key", key.is_some());
    attributes.violations("attributesToGet", &mut violations);
    violations.finish()?;
    legacy::refuse_mixed(&params, &[AttributesToGet::PARAMETER], &expressions.given())?;
    expressions.check()?;
    let key = key.unwrap_or_else(|| Ok(Default::default())).map_err(Fault::validation)?;
    let attributes = attributes.projection()?;
    let mut parsing = expressions.parse()?;
    let projection = parsing.projection()?.or(attributes);
    parsing.finish()?;
    let table = table_name(table.unwrap_or_default())?;
    Ok(Get { table, key, projection, consistency })
}
