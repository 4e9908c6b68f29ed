//! `BatchWriteItem`.

use keyloom_store::{BatchAction, BatchGet, BatchWrite, Consistency, Get, TableName, TableSpec};
use keyloom_value::Item;

use crate::json::{Json, Writer};
use crate::wire::{Fault, write_item};

use super::Endpoint;
use super::capacity::{self, Consumed, Use};
use super::indexes::{has_local_index, write_collection};
use super::params::{Params, table_name};
use super::refusal::{self, RequestKind};
use super::violations::{CAPACITY, METRICS, Violations};
use super::write_params::{WriteExtras, check_size};

/// Writes of a request.
const WRITES_MAX: usize = 25;

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let extras = WriteExtras::read(&params)?;
    let batch = read(params)?;
    let tables = tables(&batch);
    for table in &tables {
        endpoint.check_visible(table)?;
    }
    let only_keys = batch.actions.iter().all(|action| matches!(action, BatchAction::Delete(..)));
    let kind = if only_keys { RequestKind::Key } else { RequestKind::BatchWrite };
    let extras = match extras.is_requested() {
        true => Some((extras, images(endpoint, &tables, &batch).await?)),
        false => None,
    };
    let left = match endpoint.store.batch_write(batch).await {
        Ok(left) => left,
        Err(error) => {
            // A batch that passed its constraints has a table.
            let Some(table) = tables.first() else { return Err(Fault::validation("")) };
            return Err(refusal::item_fault(endpoint, table, kind, error).await);
        }
    };
    let mut writer = Writer::new();
    writer.object(|w| {
        write_unprocessed(w, &tables, &left);
        if let Some((extras, images)) = &extras {
            write_extras(w, *extras, images);
        }
    });
    Ok(writer.finish())
}

/// One write with the item before it.
struct Image {
    spec: TableSpec,
    old: Option<Item>,
    new: Option<Item>,
    /// The item or key that was sent.
    written: Item,
}

/// Reads the items before the batch is written. If the same items are written concurrently, the
/// reported units may be based on either version.
async fn images(
    endpoint: &Endpoint,
    tables: &[TableName],
    batch: &BatchWrite,
) -> Result<Vec<Image>, Fault> {
    let mut specs = Vec::new();
    for table in tables {
        specs.push(refusal::describe(endpoint, table).await?.spec);
    }
    let mut images = Vec::new();
    for action in &batch.actions {
        let (table, written, new) = match action {
            BatchAction::Put(table, item) => (table, item, Some(item.clone())),
            BatchAction::Delete(table, key) => (table, key, None),
        };
        let Some(spec) = specs.iter().find(|spec| spec.name == *table) else { continue };
        let old = old_image(endpoint, spec, written).await;
        images.push(Image { spec: spec.clone(), old, new, written: written.clone() });
    }
    Ok(images)
}

/// Reads the current item. An invalid key is rejected by the write itself.
async fn old_image(endpoint: &Endpoint, spec: &TableSpec, written: &Item) -> Option<Item> {
    let get = Get {
        table: spec.name.clone(),
        key: spec.key.of(written),
        projection: None,
        consistency: Consistency::Strong,
    };
    let got = endpoint.store.batch_get(BatchGet { gets: vec![get] }).await.ok()?;
    got.items.into_iter().next().map(|(_, item)| item)
}

fn write_extras(w: &mut Writer, extras: WriteExtras, images: &[Image]) {
    let mut consumed = Vec::new();
    for image in images {
        let of_image = Consumed::of_write(&image.spec, image.old.as_ref(), image.new.as_ref());
        capacity::merge(&mut consumed, of_image);
    }
    capacity::write_all(w, extras.detail, &consumed, Use::Plain);
    if extras.metrics && images.iter().any(|image| has_local_index(&image.spec)) {
        w.name("ItemCollectionMetrics").object(|w| {
            for consumed in &consumed {
                let of_table = || images.iter().filter(|image| image.spec.name == consumed.table);
                w.name(consumed.table.as_str()).list(|w| {
                    of_table()
                        .filter(|image| has_local_index(&image.spec))
                        .for_each(|image| write_collection(w, &image.spec, &image.written));
                });
            }
        });
    }
}

fn write_unprocessed(w: &mut Writer, tables: &[TableName], left: &BatchWrite) {
    w.name("UnprocessedItems").object(|w| {
        for table in tables {
            let of_table = || {
                left.actions.iter().filter(move |action| match action {
                    BatchAction::Put(name, _) | BatchAction::Delete(name, _) => name == table,
                })
            };
            if of_table().next().is_none() {
                continue;
            }
            w.name(table.as_str()).list(|w| of_table().for_each(|action| write_action(w, action)));
        }
    });
}

fn write_action(w: &mut Writer, action: &BatchAction) {
    let (request, member, item) = match action {
        BatchAction::Put(_, item) => ("PutRequest", "Item", item),
        BatchAction::Delete(_, key) => ("DeleteRequest", "Key", key),
    };
    w.object(|w| w.name(request).object(|w| write_item(w.name(member), item)));
}

/// Returns the tables of a batch, without duplicates, in order.
fn tables(batch: &BatchWrite) -> Vec<TableName> {
    let mut tables: Vec<TableName> = Vec::new();
    for action in &batch.actions {
        let (BatchAction::Put(table, _) | BatchAction::Delete(table, _)) = action;
        if !tables.contains(table) {
            tables.push(table.clone());
        }
    }
    tables
}

fn read(params: Params<'_>) -> Result<BatchWrite, Fault> {
    let tables: Option<Vec<(&str, &Json<'_>)>> =
        params.members("RequestItems")?.map(Iterator::collect);
    let mut violations = Violations::default();
    let capacity = params.text("ReturnConsumedCapacity")?;
    violations.one_of("returnConsumedCapacity", capacity, CAPACITY);
    let metrics = params.text("ReturnItemCollectionMetrics")?;
    violations.one_of("returnItemCollectionMetrics", metrics, METRICS);
    violations.required("requestItems", tables.is_some());
    let tables = tables.unwrap_or_default();
    for (name, requests) in &tables {
        let Json::List(requests) = requests else {
            return Err(Fault::serialization("Unexpected field type"));
        };
        if requests.is_empty() {
            let why = "Map value must satisfy constraint: [Member must have length less than or \
                       equal to 25, Member must have length greater than or equal to 1]";
            violations.report(format_args!("'{{{name}=[]}}'"), "requestItems", why);
        }
    }
    violations.finish()?;
    if tables.is_empty() {
        let message = "The requestItems parameter is required for BatchWriteItem";
        return Err(Fault::validation(message));
    }
    for (name, requests) in &tables {
        if matches!(requests, Json::List(requests) if requests.len() > WRITES_MAX) {
            return Err(Fault::validation(format!(
                "1 validation error detected: Value at 'RequestItems.{name}.member' failed to \
                 satisfy constraint: Member must have length less than or equal to {WRITES_MAX}"
            )));
        }
    }
    let mut batch = BatchWrite::default();
    for (name, requests) in tables {
        let table = table_name(name)?;
        let Json::List(requests) = requests else { continue };
        for request in requests {
            batch.actions.push(action(&table, Params::new(request)?)?);
        }
    }
    Ok(batch)
}

fn action(table: &TableName, request: Params<'_>) -> Result<BatchAction, Fault> {
    let item = |request: Params<'_>, name| {
        let item = request.item(name)?.unwrap_or_else(|| Ok(Item::new()));
        item.map_err(Fault::validation)
    };
    match (request.object("PutRequest")?, request.object("DeleteRequest")?) {
        (Some(put), None) => {
            let item = item(put, "Item")?;
            check_size(&item)?;
            Ok(BatchAction::Put(table.clone(), item))
        }
        (None, Some(delete)) => Ok(BatchAction::Delete(table.clone(), item(delete, "Key")?)),
        (Some(_), Some(_)) => Err(Fault::validation(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of \
             the supported datatypes",
        )),
        (None, None) => Err(Fault::validation(
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        )),
    }
}
