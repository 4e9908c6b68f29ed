//! A request as an operation with expressions.

use keyloom_dynamodb::{Printer, item_to_json};
use keyloom_value::{Condition, Item, Update};

use super::request::{Key, Request, Sort};
use super::{Answer, plain, without_end};
use crate::partiql::stage::text;
use crate::service::Service;

/// Sends the operation.
pub(super) fn operation(service: &Service, request: &Request) -> Answer {
    match request {
        Request::Query { pk, sort, filter, page } => {
            let mut members = vec![r#""TableName":"ttt""#.to_owned()];
            members.push(format!(r#""ScanIndexForward":{}"#, !page.is_backward));
            let mut values = Item::from([(":pk", pk.as_str())]);
            let mut condition = "pk = :pk".to_owned();
            if let Some(Sort { test, values: bounds }) = sort {
                let mut test = (*test).to_owned();
                for (position, bound) in bounds.iter().enumerate() {
                    test = test.replacen('?', &format!(":sk{position}"), 1);
                    values.insert(format!(":sk{position}"), bound.as_str());
                }
                condition = format!("{condition} AND {test}");
            }
            members.push(format!(r#""KeyConditionExpression":"{condition}""#));
            expressions(&mut members, &[("FilterExpression", filter.as_ref())], values, None);
            pages(service, "Query", &members, page.limit)
        }
        Request::Scan { filter, limit } => {
            let mut members = vec![r#""TableName":"ttt""#.to_owned()];
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
        write => {
            let (operation, mut members) = single(write);
            if let Request::Update { returns, .. } | Request::Delete { returns, .. } = write {
                members.push(format!(r#""ReturnValues":"{returns}""#));
            }
            answer(service, operation, &format!("{{{}}}", members.join(",")))
        }
    }
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
        Request::Query { .. } | Request::Scan { .. } | Request::Transaction(_) => {
            panic!("not a request of one item")
        }
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
