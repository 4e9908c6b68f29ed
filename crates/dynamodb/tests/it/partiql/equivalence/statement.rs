//! A request as a statement.

use keyloom_value::{Condition, Value};

use super::request::{Key, Order, PARTITIONS, Request, Sort, Source};
use super::{Answer, plain, plain_error, without_end};
use crate::partiql::printer::Statement;
use crate::service::Service;

/// Sends the statement; `None` if it would be too long.
pub(super) fn statement(service: &Service, request: &Request) -> Option<Answer> {
    match request {
        Request::Query { page, .. } => all_pages(service, request, page.limit),
        Request::Partitions { .. } => all_pages(service, request, None),
        Request::Scan { limit, .. } => all_pages(service, request, *limit),
        Request::Transaction(writes) => {
            let members: Option<Vec<String>> = writes.iter().map(|it| member(it, false)).collect();
            let body = format!(r#"{{"TransactStatements":[{}]}}"#, members?.join(","));
            Some(items(service, "ExecuteTransaction", &body).0)
        }
        Request::Batch(requests) => {
            let members: Option<Vec<String>> = requests.iter().map(|it| member(it, true)).collect();
            Some(batch(service, &members?))
        }
        write => Some(items(service, "ExecuteStatement", &member(write, true)?).0),
    }
}

fn all_pages(service: &Service, request: &Request, limit: Option<usize>) -> Option<Answer> {
    let mut body = member(request, true)?;
    let mut found = Vec::new();
    if let Some(limit) = limit {
        body.insert_str(body.len() - 1, &format!(r#","Limit":{limit}"#));
    }
    let mut token = String::new();
    loop {
        let mut with_token = body.clone();
        with_token.insert_str(body.len() - 1, &token);
        match items(service, "ExecuteStatement", &with_token) {
            (Answer::Items(page), next) => {
                found.push(serde_json::Value::Array(page));
                match next {
                    Some(next) => token = format!(r#","NextToken":"{next}""#),
                    None => return Some(Answer::Items(without_end(found))),
                }
            }
            (error, _) => return Some(error),
        }
    }
}

fn items(service: &Service, operation: &str, body: &str) -> (Answer, Option<String>) {
    let reply = service.call(operation, body);
    if reply.status != 200 {
        return (Answer::Error(plain(&reply.body)), None);
    }
    let reply: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    let items = reply.get("Items").or(reply.get("Responses")).unwrap();
    let next = reply.get("NextToken").map(|token| token.as_str().unwrap().to_owned());
    (Answer::Items(items.as_array().unwrap().clone()), next)
}

fn batch(service: &Service, members: &[String]) -> Answer {
    let body = format!(r#"{{"Statements":[{}]}}"#, members.join(","));
    let reply = service.ok("BatchExecuteStatement", &body);
    let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
    let answer = |response: &serde_json::Value| match response.get("Error") {
        None => Answer::Items(response.get("Item").into_iter().cloned().collect()),
        Some(error) => {
            let text = |name: &str| error[name].as_str().unwrap();
            // Statements of a batch have codes without their ending.
            let code = text("Code").trim_end_matches("Error");
            Answer::Error(plain_error(&format!("{code}Exception: {}", text("Message"))))
        }
    };
    Answer::Each(reply["Responses"].as_array().unwrap().iter().map(answer).collect())
}

/// Returns the statement of a request, with its parameters, as JSON.
fn member(request: &Request, returning: bool) -> Option<String> {
    let mut statement = Statement::default();
    let image = |returns: &str| match returns {
        "ALL_OLD" => " RETURNING ALL OLD *",
        "ALL_NEW" => " RETURNING ALL NEW *",
        "UPDATED_OLD" => " RETURNING MODIFIED OLD *",
        "UPDATED_NEW" => " RETURNING MODIFIED NEW *",
        _ => "",
    };
    match request {
        Request::Insert(item) => statement.insert("ttt", item),
        Request::Update { key, update, condition, returns } => {
            statement.push("UPDATE ttt");
            statement.update(update);
            filter(&mut statement, key, condition.as_ref());
            statement.push(if returning { image(returns) } else { "" });
        }
        Request::Delete { key, condition, returns } => {
            statement.push("DELETE FROM ttt");
            filter(&mut statement, key, condition.as_ref());
            statement.push(if returning { image(returns) } else { "" });
        }
        Request::Get { key } => {
            statement.push("SELECT * FROM ttt");
            filter(&mut statement, key, None);
        }
        Request::Query { part, sort, filter, page } => {
            select(&mut statement, part.source);
            statement.push(&format!(" WHERE {} = ", part.source.partition));
            statement.value(&Value::from(part.key));
            if let Some(Sort { test, values }) = sort {
                statement.push(" AND ");
                let test = test.replace('#', part.source.sort);
                let mut parts = test.split('?');
                statement.push(parts.next().unwrap_or_default());
                for (part, value) in parts.zip(values) {
                    statement.value(&Value::from(value.as_str()));
                    statement.push(part);
                }
            }
            statement.and(filter.as_ref());
            if let Some(order) = page.order {
                statement.push(&format!(" ORDER BY {}{}", part.source.sort, order_text(order)));
            }
        }
        Request::Partitions { source, filter, order: [of_partitions, of_items] } => {
            select(&mut statement, source);
            let [first, second] = PARTITIONS;
            statement.push(&format!(" WHERE {} IN ['{second}', '{first}']", source.partition));
            statement.and(filter.as_ref());
            let (partitions, items) = (order_text(*of_partitions), order_text(*of_items));
            let Source { partition, sort, .. } = source;
            statement.push(&format!(" ORDER BY {partition}{partitions}, {sort}{items}"));
        }
        Request::Scan { source, filter, .. } => {
            select(&mut statement, source);
            if let Some(filter) = filter {
                statement.push(" WHERE ");
                statement.condition(filter);
            }
        }
        Request::Transaction(_) | Request::Batch(_) => panic!("not one statement"),
    }
    statement.json()
}

fn select(statement: &mut Statement, source: &Source) {
    statement.push("SELECT * FROM ttt");
    if let Some(index) = source.index {
        statement.push(&format!(".{index}"));
    }
}

fn order_text(order: Order) -> &'static str {
    match order {
        Order::Ascending => " ASC",
        Order::Descending => " DESC",
    }
}

fn filter(statement: &mut Statement, key: &Key, condition: Option<&Condition>) {
    statement.push(" WHERE pk = ");
    statement.value(&Value::from(key.pk.as_str()));
    statement.push(" AND sk = ");
    statement.value(&Value::from(key.sk.as_str()));
    statement.and(condition);
}
