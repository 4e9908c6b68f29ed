//! Encodes store requests as requests to the endpoint.

use keyloom_store::{
    Alteration, BatchAction, BatchGet, BatchWrite, Consistency, Delete, Direction, Get,
    IndexProjection, IndexScope, IndexSpec, KeySchema, OnFailure, Put, Query, Returns, Scan,
    Select, TableName, TableSpec, TransactAction, TransactGet, TransactWrite, UpdateItem,
};
use keyloom_value::{Condition, Item, Projection};

use crate::expression::{Printer, Substitutions};
use crate::json::Writer;
use crate::wire::{write_item, write_value};

/// Returns whether an expression can represent the condition: it cannot join fewer than two.
pub(super) fn is_expressible(condition: Option<&Condition>) -> bool {
    let Some(condition) = condition else { return true };
    let mut printer = Printer::new();
    let text = printer.condition(condition);
    let parsed = Substitutions::new(printer.names, printer.values)
        .and_then(|mut substitutions| substitutions.condition("FilterExpression", &text));
    // The endpoint itself must reject an invalid condition.
    parsed.map_or(true, |parsed| parsed == *condition)
}

/// Returns whether the wire can represent the action: a transaction has no update that changes
/// nothing, and returns no image.
pub(super) fn is_expressible_action(action: &TransactAction) -> bool {
    let (condition, returns) = match action {
        TransactAction::Put(put) => (put.condition.as_ref(), put.returns),
        TransactAction::Update(update) if update.update.paths().next().is_none() => return false,
        TransactAction::Update(update) => (update.condition.as_ref(), update.returns),
        TransactAction::Delete(delete) => (delete.condition.as_ref(), delete.returns),
        TransactAction::Check(check) => (Some(&check.condition), Returns::Nothing),
    };
    is_expressible(condition) && returns == Returns::Nothing
}

/// Writes a request.
pub(super) fn object(fill: impl FnOnce(&mut Writer)) -> String {
    let mut writer = Writer::new();
    writer.object(fill);
    writer.finish()
}

pub(super) fn get(get: &Get) -> String {
    object(|w| write_get(w, get))
}

fn write_get(w: &mut Writer, get: &Get) {
    w.name("TableName").text(get.table.as_str());
    write_item(w.name("Key"), &get.key);
    let mut printer = Printer::new();
    projection(w, &mut printer, get.projection.as_ref());
    consistency(w, get.consistency);
    placeholders(w, &printer);
}

pub(super) fn put(put: &Put) -> String {
    object(|w| {
        write_put(w, put);
        returns(w, put.returns);
    })
}

fn write_put(w: &mut Writer, put: &Put) {
    w.name("TableName").text(put.table.as_str());
    write_item(w.name("Item"), &put.item);
    let mut printer = Printer::new();
    condition(w, &mut printer, "ConditionExpression", put.condition.as_ref());
    on_failure(w, put.on_failure);
    placeholders(w, &printer);
}

pub(super) fn update(update: &UpdateItem) -> String {
    object(|w| {
        write_update(w, update);
        returns(w, update.returns);
    })
}

fn write_update(w: &mut Writer, update: &UpdateItem) {
    w.name("TableName").text(update.table.as_str());
    write_item(w.name("Key"), &update.key);
    let mut printer = Printer::new();
    let text = printer.update(&update.update);
    if !text.is_empty() {
        w.name("UpdateExpression").text(&text);
    }
    condition(w, &mut printer, "ConditionExpression", update.condition.as_ref());
    on_failure(w, update.on_failure);
    placeholders(w, &printer);
}

pub(super) fn delete(delete: &Delete) -> String {
    object(|w| {
        write_delete(w, delete);
        returns(w, delete.returns);
    })
}

fn write_delete(w: &mut Writer, delete: &Delete) {
    w.name("TableName").text(delete.table.as_str());
    write_item(w.name("Key"), &delete.key);
    let mut printer = Printer::new();
    condition(w, &mut printer, "ConditionExpression", delete.condition.as_ref());
    on_failure(w, delete.on_failure);
    placeholders(w, &printer);
}

pub(super) fn query(query: &Query) -> String {
    object(|w| {
        w.name("TableName").text(query.table.as_str());
        let mut printer = Printer::new();
        w.name("KeyConditionExpression").text(&printer.key_condition(&query.key));
        w.name("ScanIndexForward").boolean(query.direction == Direction::Forward);
        page(w, &mut printer, query.index.as_ref(), &query.select, query.filter.as_ref());
        start(w, query.limit, query.start.as_ref());
        if query.index.is_none() {
            consistency(w, query.consistency);
        }
        placeholders(w, &printer);
    })
}

pub(super) fn scan(scan: &Scan) -> String {
    object(|w| {
        w.name("TableName").text(scan.table.as_str());
        let mut printer = Printer::new();
        page(w, &mut printer, scan.index.as_ref(), &scan.select, scan.filter.as_ref());
        start(w, scan.limit, scan.start.as_ref());
        if let Some(segment) = scan.segment {
            w.name("Segment").number(segment.number);
            w.name("TotalSegments").number(segment.of);
        }
        placeholders(w, &printer);
    })
}

pub(super) fn batch_get(batch: &BatchGet) -> String {
    let tables = tables(batch.gets.iter().map(|get| &get.table));
    object(|w| {
        w.name("RequestItems").object(|w| {
            for table in tables {
                let gets = || batch.gets.iter().filter(|get| get.table == *table);
                w.name(table.as_str()).object(|w| {
                    w.name("Keys").list(|w| gets().for_each(|get| write_item(w, &get.key)));
                    let mut printer = Printer::new();
                    let first = gets().next().and_then(|get| get.projection.as_ref());
                    projection(w, &mut printer, first);
                    placeholders(w, &printer);
                });
            }
        });
    })
}

pub(super) fn batch_write(batch: &BatchWrite) -> String {
    let table = |action: &BatchAction| match action {
        BatchAction::Put(table, _) | BatchAction::Delete(table, _) => table.clone(),
    };
    let all: Vec<TableName> = batch.actions.iter().map(table).collect();
    object(|w| {
        w.name("RequestItems").object(|w| {
            for name in tables(all.iter()) {
                w.name(name.as_str()).list(|w| {
                    for action in batch.actions.iter().filter(|action| table(action) == *name) {
                        let (request, member, item) = match action {
                            BatchAction::Put(_, item) => ("PutRequest", "Item", item),
                            BatchAction::Delete(_, key) => ("DeleteRequest", "Key", key),
                        };
                        w.object(|w| {
                            w.name(request).object(|w| write_item(w.name(member), item));
                        });
                    }
                });
            }
        });
    })
}

pub(super) fn transact_get(transaction: &TransactGet) -> String {
    object(|w| {
        w.name("TransactItems").list(|w| {
            for get in &transaction.gets {
                let plain = Get { consistency: Consistency::Eventual, ..get.clone() };
                w.object(|w| w.name("Get").object(|w| write_get(w, &plain)));
            }
        });
    })
}

pub(super) fn transact_write(transaction: &TransactWrite) -> String {
    object(|w| {
        w.name("TransactItems").list(|w| {
            transaction.actions.iter().for_each(|action| w.object(|w| write_action(w, action)));
        });
        if let Some(token) = &transaction.token {
            w.name("ClientRequestToken").text(token);
        }
    })
}

fn write_action(w: &mut Writer, action: &TransactAction) {
    match action {
        TransactAction::Put(put) => w.name("Put").object(|w| write_put(w, put)),
        TransactAction::Update(update) => w.name("Update").object(|w| write_update(w, update)),
        TransactAction::Delete(delete) => w.name("Delete").object(|w| write_delete(w, delete)),
        TransactAction::Check(check) => w.name("ConditionCheck").object(|w| {
            let delete = Delete {
                condition: Some(check.condition.clone()),
                on_failure: check.on_failure,
                ..Delete::new(&check.table, check.key.clone())
            };
            write_delete(w, &delete);
        }),
    }
}

pub(super) fn create_table(spec: &TableSpec) -> String {
    object(|w| {
        w.name("TableName").text(spec.name.as_str());
        w.name("BillingMode").text("PAY_PER_REQUEST");
        let indexes = spec.indexes.iter().map(|index| &index.key);
        definitions(w, std::iter::once(&spec.key).chain(indexes));
        key_schema(w, &spec.key);
        for (member, scope) in [
            ("LocalSecondaryIndexes", IndexScope::Local),
            ("GlobalSecondaryIndexes", IndexScope::Global),
        ] {
            let indexes = || spec.indexes.iter().filter(|index| index.scope == scope);
            if indexes().next().is_some() {
                w.name(member).list(|w| indexes().for_each(|index| write_index(w, index)));
            }
        }
        if spec.feed == keyloom_store::Feed::Images {
            write_stream(w, true);
        }
    })
}

/// Encodes an alteration; returns the operation and the body. `attribute` is the current time to
/// live attribute.
pub(super) fn alter_table(
    table: &TableName,
    change: &Alteration,
    attribute: Option<&str>,
) -> (&'static str, String) {
    let body = object(|w| {
        w.name("TableName").text(table.as_str());
        match change {
            Alteration::AddIndex(index) => {
                definitions(w, std::iter::once(&index.key));
                w.name("GlobalSecondaryIndexUpdates").list(|w| {
                    w.object(|w| {
                        w.name("Create");
                        write_index(w, index);
                    });
                });
            }
            Alteration::DropIndex(name) => w.name("GlobalSecondaryIndexUpdates").list(|w| {
                w.object(|w| {
                    w.name("Delete").object(|w| w.name("IndexName").text(name.as_str()));
                });
            }),
            // The protocol has no columns.
            Alteration::AddColumn(_) | Alteration::DropColumn(_) => {}
            Alteration::SetTtl(name) => w.name("TimeToLiveSpecification").object(|w| {
                let named = name.as_ref().map(|name| name.as_str()).or(attribute);
                w.name("AttributeName").text(named.unwrap_or("none"));
                w.name("Enabled").boolean(name.is_some());
            }),
            Alteration::SetFeed(feed) => write_stream(w, *feed == keyloom_store::Feed::Images),
        }
    });
    match change {
        Alteration::SetTtl(_) => ("UpdateTimeToLive", body),
        _ => ("UpdateTable", body),
    }
}

fn write_stream(w: &mut Writer, is_on: bool) {
    w.name("StreamSpecification").object(|w| {
        w.name("StreamEnabled").boolean(is_on);
        if is_on {
            w.name("StreamViewType").text("NEW_AND_OLD_IMAGES");
        }
    });
}

fn definitions<'a>(w: &mut Writer, keys: impl Iterator<Item = &'a KeySchema>) {
    let mut written = Vec::new();
    w.name("AttributeDefinitions").list(|w| {
        for attribute in keys.flat_map(KeySchema::attributes) {
            if written.contains(&attribute) {
                continue;
            }
            written.push(attribute);
            w.object(|w| {
                w.name("AttributeName").text(attribute.name.as_str());
                w.name("AttributeType").text(attribute.key_type.value_type().as_str());
            });
        }
    });
}

fn key_schema(w: &mut Writer, key: &KeySchema) {
    w.name("KeySchema").list(|w| {
        for (parts, kind) in [(&key.partition, "HASH"), (&key.sort, "RANGE")] {
            for part in parts {
                w.object(|w| {
                    w.name("AttributeName").text(part.name.as_str());
                    w.name("KeyType").text(kind);
                });
            }
        }
    });
}

fn write_index(w: &mut Writer, index: &IndexSpec) {
    w.object(|w| {
        w.name("IndexName").text(index.name.as_str());
        key_schema(w, &index.key);
        w.name("Projection").object(|w| match &index.projection {
            IndexProjection::All => w.name("ProjectionType").text("ALL"),
            IndexProjection::Keys => w.name("ProjectionType").text("KEYS_ONLY"),
            IndexProjection::Include(names) => {
                w.name("ProjectionType").text("INCLUDE");
                w.name("NonKeyAttributes").list(|w| names.iter().for_each(|n| w.text(n.as_str())));
            }
        });
    });
}

fn tables<'a>(names: impl Iterator<Item = &'a TableName>) -> Vec<&'a TableName> {
    let mut tables = Vec::new();
    for name in names {
        if !tables.contains(&name) {
            tables.push(name);
        }
    }
    tables
}

fn page(
    w: &mut Writer,
    printer: &mut Printer,
    index: Option<&TableName>,
    select: &Select,
    filter: Option<&Condition>,
) {
    if let Some(index) = index {
        w.name("IndexName").text(index.as_str());
    }
    match select {
        Select::All => {}
        Select::AllOfTable => w.name("Select").text("ALL_ATTRIBUTES"),
        Select::Count => w.name("Select").text("COUNT"),
        Select::Parts(parts) => projection(w, printer, Some(parts)),
    }
    condition(w, printer, "FilterExpression", filter);
}

fn start(w: &mut Writer, limit: Option<u32>, start: Option<&Item>) {
    if let Some(limit) = limit {
        w.name("Limit").number(limit);
    }
    if let Some(start) = start {
        write_item(w.name("ExclusiveStartKey"), start);
    }
}

fn condition(w: &mut Writer, printer: &mut Printer, member: &str, condition: Option<&Condition>) {
    if let Some(condition) = condition {
        let text = printer.condition(condition);
        w.name(member).text(&text);
    }
}

fn projection(w: &mut Writer, printer: &mut Printer, projection: Option<&Projection>) {
    if let Some(projection) = projection {
        let text = printer.projection(projection);
        w.name("ProjectionExpression").text(&text);
    }
}

fn consistency(w: &mut Writer, consistency: Consistency) {
    if consistency == Consistency::Strong {
        w.name("ConsistentRead").boolean(true);
    }
}

fn returns(w: &mut Writer, returns: Returns) {
    let text = match returns {
        Returns::Nothing => "NONE",
        Returns::AllOld => "ALL_OLD",
        Returns::UpdatedOld => "UPDATED_OLD",
        Returns::AllNew => "ALL_NEW",
        Returns::UpdatedNew => "UPDATED_NEW",
    };
    w.name("ReturnValues").text(text);
}

fn on_failure(w: &mut Writer, on_failure: OnFailure) {
    if on_failure == OnFailure::ReturnItem {
        w.name("ReturnValuesOnConditionCheckFailure").text("ALL_OLD");
    }
}

fn placeholders(w: &mut Writer, printer: &Printer) {
    if !printer.names.is_empty() {
        w.name("ExpressionAttributeNames").object(|w| {
            printer.names.iter().for_each(|(key, name)| w.name(key).text(name));
        });
    }
    if !printer.values.is_empty() {
        w.name("ExpressionAttributeValues").object(|w| {
            printer.values.iter().for_each(|(key, value)| write_value(w.name(key), value));
        });
    }
}
