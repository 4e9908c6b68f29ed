//! Decodes responses of the endpoint.

use keyloom_store::{BatchGot, Page, TableName};
use keyloom_value::Item;

use crate::json::{Json, parse};
use crate::wire;

pub(super) fn json(body: &str) -> Json<'_> {
    parse(body).expect("a response is JSON")
}

pub(super) fn item(response: &Json<'_>, member: &str) -> Option<Item> {
    response.get(member).map(|json| wire::item(json).expect("an item"))
}

fn items(response: &Json<'_>, member: &str) -> Vec<Item> {
    match response.get(member) {
        Some(Json::List(items)) => {
            items.iter().map(|json| wire::item(json).expect("an item")).collect()
        }
        _ => vec![],
    }
}

fn number(response: &Json<'_>, member: &str) -> u64 {
    match response.get(member) {
        Some(Json::Number(text)) => text.parse().expect("a count"),
        _ => panic!("{member} is missing"),
    }
}

pub(super) fn page(body: &str) -> Page {
    let response = json(body);
    Page {
        items: items(&response, "Items"),
        count: number(&response, "Count"),
        scanned: number(&response, "ScannedCount"),
        scanned_bytes: 0,
        last_key: item(&response, "LastEvaluatedKey"),
    }
}

/// Decodes items by table. Unprocessed keys are read from the store instead.
pub(super) fn batch_got(body: &str) -> BatchGot {
    let response = json(body);
    let Some(Json::Object(tables)) = response.get("Responses") else { panic!("no responses") };
    let mut got = BatchGot::default();
    for (name, _) in tables {
        let table = TableName::new(name).expect("a table");
        let responses = response.get("Responses").expect("responses");
        got.items.extend(items(responses, name).into_iter().map(|item| (table.clone(), item)));
    }
    got
}

pub(super) fn responses(body: &str) -> Vec<Option<Item>> {
    let response = json(body);
    let Some(Json::List(responses)) = response.get("Responses") else { panic!("no responses") };
    responses.iter().map(|response| item(response, "Item")).collect()
}

pub(super) fn table_names(body: &str) -> (Vec<TableName>, bool) {
    let response = json(body);
    let Some(Json::List(names)) = response.get("TableNames") else { panic!("no names") };
    let names = names.iter().map(|name| match name {
        Json::Text(name) => TableName::new(name).expect("a name"),
        _ => panic!("a name is text"),
    });
    (names.collect(), response.get("LastEvaluatedTableName").is_some())
}
