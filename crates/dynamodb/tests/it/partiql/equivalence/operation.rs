//! A request as an operation with expressions.

use keyloom_dynamodb::{Printer, item_to_json};
use keyloom_value::{Condition, Item, Update};

use super::request::{Key, Order, PARTITIONS, Page, Part, Request, Sort, Source};
use super::{Answer, plain, without_end};
use crate::partiql::stage::text;
use crate::service::Service;

/// Sends the operation.
pub(super) fn operation(service: &Service, request: &Request) -> Answer {
    match request {
        Request::Query { part, sort, filter, page } => {
            query(service, part, sort.as_ref(), filter.as_ref(), page)
        }
        Request::Partitions { source, filter, order: [of_partitions, of_items] } => {
            let mut keys = PARTITIONS;
            if *of_partitions == Order::Descending {
                keys.reverse();
            }
            let page = Page { order: Some(*of_items), limit: None };
            let part = |key| Part { source, key };
            let read = |key| query(service, &part(key), None, filter.as_ref(), &page);
            one_after_the_other(keys.map(read))
        }
        Request::Scan { source, filter, limit } => {
            let mut members = read_members(source);
            let filter = [("FilterExpression", filter.as_ref())];
            expressions(&mut members, &filter, Item::new(), None);
            pages(service, "Scan", &members, *limit)
        }
        Request::Transaction(writes) => {
            let actions: Vec<String> = writes
                .iter()
                .map(|write| {
                    let (operation, members) = single(write);
                    let kind = operation.trim_end_matches("Item");
                    format!(r#"{{"{kind}":{{{}}}}}"#, members.join(","))
                })
                .collect();
            let body = format!(r#"{{"TransactItems":[{}]}}"#, actions.join(","));
            answer(service, "TransactWriteItems", &body)
        }
        Request::Batch(requests) => {
            Answer::Each(requests.iter().map(|request| operation(service, request)).collect())
        }
        write => {
            let (operation, mut members) = single(write);
            if let Request::Update { returns, .. } | Request::Delete { returns, .. } = write {
                members.push(format!(r#""ReturnValues":"{returns}""#));
            }
            answer(service, operation, &format!("{{{}}}", members.join(",")))
        }
    }
}

fn query(
    service: &Service,
    Part { source, key }: &Part,
    sort: Option<&Sort>,
    filter: Option<&Condition>,
    page: &Page,
) -> Answer {
    let mut members = read_members(source);
    members.push(format!(r#""ScanIndexForward":{}"#, page.order != Some(Order::Descending)));
    let mut values = Item::from([(":pk", *key)]);
    let mut condition = format!("{} = :pk", source.partition);
    if let Some(Sort { test, values: bounds }) = sort {
        let mut test = test.replace('#', source.sort);
        for (position, bound) in bounds.iter().enumerate() {
            test = test.replacen('?', &format!(":sk{position}"), 1);
            values.insert(format!(":sk{position}"), bound.as_str());
        }
        condition = format!("{condition} AND {test}");
    }
    members.push(format!(r#""KeyConditionExpression":"{condition}""#));
    expressions(&mut members, &[("FilterExpression", filter)], values, None);
    pages(service, "Query", &members, page.limit)
}

fn read_members(source: &Source) -> Vec<String> {
    let table = r#""TableName":"ttt""#.to_owned();
    let index = source.index.map(|index| format!(r#""IndexName":"{index}""#));
    [table].into_iter().chain(index).collect()
}

/// The items of several answers, as one page; or the first error.
fn one_after_the_other(answers: [Answer; 2]) -> Answer {
    let mut all = vec![];
    for answer in answers {
        match answer {
            Answer::Items(pages) => {
                all.extend(pages.iter().flat_map(|page| page.as_array().unwrap()).cloned());
            }
            other => return other,
        }
    }
    Answer::Items(without_end(vec![serde_json::Value::Array(all)]))
}

/// Returns the operation of a request of one item, and its members.
fn single(request: &Request) -> (&'static str, Vec<String>) {
    let mut members = vec![r#""TableName":"ttt""#.to_owned()];
    let exists = || Condition::exists("pk");
    match request {
        Request::Insert(item) => {
            members.push(format!(r#""Item":{}"#, item_to_json(item)));
            let free = Condition::missing("pk");
            let condition = [("ConditionExpression", Some(&free))];
            expressions(&mut members, &condition, Item::new(), None);
            ("PutItem", members)
        }
        Request::Update { key, update, condition, .. } => {
            members.push(format!(r#""Key":{}"#, key.json()));
            let condition = match condition {
                Some(condition) => exists().and(condition.clone()),
                None => exists(),
            };
            let condition = [("ConditionExpression", Some(&condition))];
            expressions(&mut members, &condition, Item::new(), Some(update));
            ("UpdateItem", members)
        }
        Request::Delete { key, condition, .. } => {
            members.push(format!(r#""Key":{}"#, key.json()));
            let condition =
                condition.clone().map(|condition| Condition::missing("pk").or(condition));
            let condition = [("ConditionExpression", condition.as_ref())];
            expressions(&mut members, &condition, Item::new(), None);
            ("DeleteItem", members)
        }
        Request::Get { key } => {
            members.push(format!(r#""Key":{}"#, key.json()));
            ("GetItem", members)
        }
        Request::Query { .. }
        | Request::Partitions { .. }
        | Request::Scan { .. }
        | Request::Transaction(_)
        | Request::Batch(_) => panic!("not a request of one item"),
    }
}

impl Key {
    fn json(&self) -> String {
        item_to_json(&Item::from([("pk", self.pk.as_str()), ("sk", self.sk.as_str())]))
    }
}

/// Adds expressions, with their names and values.
fn expressions(
    members: &mut Vec<String>,
    conditions: &[(&str, Option<&Condition>)],
    mut values: Item,
    update: Option<&Update>,
) {
    let mut printer = Printer::new();
    for (name, condition) in conditions {
        if let Some(condition) = condition {
            members.push(format!(r#""{name}":{}"#, text(&printer.condition(condition))));
        }
    }
    if let Some(update) = update {
        members.push(format!(r#""UpdateExpression":{}"#, text(&printer.update(update))));
    }
    for (key, value) in &printer.values {
        values.insert(key.as_str(), value.clone());
    }
    if !values.is_empty() {
        members.push(format!(r#""ExpressionAttributeValues":{}"#, item_to_json(&values)));
    }
    let names = printer.names.iter().map(|(key, name)| format!("{}:{}", text(key), text(name)));
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        members.push(format!(r#""ExpressionAttributeNames":{{{}}}"#, names.join(",")));
    }
}

/// Reads all pages of a query or scan. The items of each page are one element.
fn pages(service: &Service, operation: &str, members: &[String], limit: Option<usize>) -> Answer {
    let mut found = Vec::new();
    let mut members = members.to_vec();
    members.extend(limit.map(|limit| format!(r#""Limit":{limit}"#)));
    let mut start = None;
    loop {
        let all: Vec<String> = members.iter().cloned().chain(start).collect();
        let reply = service.call(operation, &format!("{{{}}}", all.join(",")));
        if reply.status != 200 {
            return Answer::Error(plain(&reply.body));
        }
        let page: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
        found.push(page["Items"].clone());
        match page.get("LastEvaluatedKey") {
            Some(key) => start = Some(format!(r#""ExclusiveStartKey":{key}"#)),
            None => return Answer::Items(without_end(found)),
        }
    }
}

fn answer(service: &Service, operation: &str, body: &str) -> Answer {
    let reply = service.call(operation, body);
    if reply.status != 200 {
        return Answer::Error(plain(&reply.body));
    }
    let reply: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    let image = reply.get("Attributes").or(reply.get("Item"));
    Answer::Items(image.into_iter().cloned().collect())
}
