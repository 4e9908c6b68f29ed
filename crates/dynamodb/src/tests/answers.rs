//! Answers of the wire as answers of the store.

use keyloom_store::{BatchGot, Page, TableName};
use keyloom_value::Item;

use crate::json::{Json, parse};
use crate::wire;

pub(super) fn json(body: &str) -> Json<'_> {
    parse(body).expect("an answer is JSON")
}

pub(super) fn item(answer: &Json<'_>, member: &str) -> Option<Item> {
    answer.get(member).map(|json| wire::item(json).expect("an item"))
}

fn items(answer: &Json<'_>, member: &str) -> Vec<Item> {
    match answer.get(member) {
        Some(Json::List(items)) => {
            items.iter().map(|json| wire::item(json).expect("an item")).collect()
        }
        _ => vec![],
    }
}

fn number(answer: &Json<'_>, member: &str) -> u64 {
    match answer.get(member) {
        Some(Json::Number(text)) => text.parse().expect("a count"),
        _ => panic!("{member} is missing"),
    }
}

pub(super) fn page(body: &str) -> Page {
    let answer = json(body);
    Page {
        items: items(&answer, "Items"),
        count: number(&answer, "Count"),
        scanned: number(&answer, "ScannedCount"),
        scanned_bytes: 0,
        last_key: item(&answer, "LastEvaluatedKey"),
    }
}

/// Items by their tables, with nothing left over: what is left over is asked for elsewhere.
pub(super) fn batch_got(body: &str) -> BatchGot {
    let answer = json(body);
    let Some(Json::Object(tables)) = answer.get("Responses") else { panic!("no responses") };
    let mut got = BatchGot::default();
    for (name, _) in tables {
        let table = TableName::new(name).expect("a table");
        let responses = answer.get("Responses").expect("responses");
        got.items.extend(items(responses, name).into_iter().map(|item| (table.clone(), item)));
    }
    got
}

pub(super) fn responses(body: &str) -> Vec<Option<Item>> {
    let answer = json(body);
    let Some(Json::List(responses)) = answer.get("Responses") else { panic!("no responses") };
    responses.iter().map(|response| item(response, "Item")).collect()
}

pub(super) fn table_names(body: &str) -> (Vec<TableName>, bool) {
    let answer = json(body);
    let Some(Json::List(names)) = answer.get("TableNames") else { panic!("no names") };
    let names = names.iter().map(|name| match name {
        Json::Text(name) => TableName::new(name).expect("a name"),
        _ => panic!("a name is text"),
    });
    (names.collect(), answer.get("LastEvaluatedTableName").is_some())
}
