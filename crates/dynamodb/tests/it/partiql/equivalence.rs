//! The same random request as an operation with expressions and as a statement: the same answer, and
//! the same items afterwards.

use keyloom_dynamodb::{Printer, item_to_json};
use keyloom_value::{Condition, Item, Path, SetValue, Update, Value};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::printer::Statement;
use super::stage::{service, text};
use crate::generators;
use crate::service::{Service, error_of};

/// A request that both languages have.
#[derive(Clone, Debug)]
enum Request {
    Insert(Item),
    Update { key: Key, update: Update, condition: Option<Condition>, returns: &'static str },
    Delete { key: Key, condition: Option<Condition>, returns: &'static str },
    Get { key: Key },
    Query { pk: String, sort: Option<Sort>, filter: Option<Condition>, page: Page },
    Scan { filter: Option<Condition>, limit: Option<usize> },
    Transaction(Vec<Request>),
}

#[derive(Clone, Debug)]
struct Key {
    pk: String,
    sk: String,
}

/// A test of the sort key, as both languages write it, with its constants.
#[derive(Clone, Debug)]
struct Sort {
    test: &'static str,
    values: Vec<String>,
}

#[derive(Clone, Debug)]
struct Page {
    is_backward: bool,
    limit: Option<usize>,
}

fn key() -> impl Strategy<Value = Key> {
    (select(vec!["p", "q"]), select(vec!["1", "2", "3"]))
        .prop_map(|(pk, sk)| Key { pk: pk.to_owned(), sk: sk.to_owned() })
}

fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![Just(None), (0_usize..3).prop_map(Some)];
    (select(vec!["a", "b", "c d"]), vec(step, 0..3)).prop_map(|(root, steps)| {
        steps.into_iter().fold(Path::from(root), |path, step| match step {
            None => path.member("x"),
            Some(index) => path.element(index),
        })
    })
}

/// Values that paths and changes often fit.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => (0_i64..5).prop_map(Value::from),
        1 => generators::value(),
        1 => btree_set("[ab]", 1..3).prop_map(Value::Ss),
        1 => btree_set(generators::number(), 1..3).prop_map(Value::Ns),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::L),
            inner.prop_map(|value| Value::M(Item::from([("x", value)]))),
        ]
    })
}

fn item() -> impl Strategy<Value = Item> {
    (key(), vec((select(vec!["a", "b", "c d"]), value()), 0..4), generators::item()).prop_map(
        |(key, members, odd)| {
            let mut item = odd;
            for (name, value) in members {
                item.insert(name, value);
            }
            item.insert("pk", key.pk);
            item.insert("sk", key.sk);
            item
        },
    )
}

fn condition() -> impl Strategy<Value = Option<Condition>> {
    let near = prop_oneof![
        (path(), value()).prop_map(|(path, value)| Condition::equal(path, value)),
        path().prop_map(Condition::Exists),
        path().prop_map(Condition::Missing),
    ];
    let any = prop_oneof![2 => near, 3 => generators::condition()];
    proptest::option::of(any.prop_filter("names a key", |it| !names_key(it)))
}

/// Whether the text of a condition could name a key attribute.
fn names_key(condition: &Condition) -> bool {
    let mut printer = Printer::new();
    printer.condition(condition);
    printer.names.iter().any(|(_, name)| name == "pk" || name == "sk")
}

fn set_value() -> impl Strategy<Value = SetValue> {
    let number = || {
        let constant = generators::number().prop_map(|number| SetValue::Value(Value::N(number)));
        prop_oneof![path().prop_map(SetValue::Path), constant]
    };
    let list = || {
        let constant = vec(value(), 0..3).prop_map(|list| SetValue::Value(Value::L(list)));
        prop_oneof![path().prop_map(SetValue::Path), constant]
    };
    prop_oneof![
        value().prop_map(SetValue::Value),
        path().prop_map(SetValue::Path),
        (number(), number()).prop_map(|(left, right)| SetValue::plus(left, right)),
        (number(), number()).prop_map(|(left, right)| SetValue::minus(left, right)),
        (list(), list()).prop_map(|(left, right)| SetValue::append(left, right)),
    ]
}

fn update() -> impl Strategy<Value = Update> {
    let set = || btree_set("[abc]", 1..3).prop_map(Value::Ss);
    let parts = (
        vec((path(), set_value()), 0..3),
        vec(path(), 0..3),
        vec((path(), set()), 0..2),
        vec((path(), set()), 0..2),
    );
    parts.prop_filter_map("invalid for every item", |(set, remove, add, delete)| {
        let update = Update { set, remove, add, delete };
        (update.check().is_ok() && update.paths().next().is_some()).then_some(update)
    })
}

fn sort() -> impl Strategy<Value = Option<Sort>> {
    let value = || select(vec!["1", "2", "3"]).prop_map(str::to_owned);
    let one =
        select(vec!["sk = ?", "sk < ?", "sk <= ?", "sk > ?", "sk >= ?", "begins_with(sk, ?)"]);
    proptest::option::of(prop_oneof![
        (one, value()).prop_map(|(test, value)| Sort { test, values: vec![value] }),
        (value(), value()).prop_map(|(left, right)| {
            let (low, high) = (left.clone().min(right.clone()), left.max(right));
            Sort { test: "sk BETWEEN ? AND ?", values: vec![low, high] }
        }),
    ])
}

fn write() -> impl Strategy<Value = Request> {
    let images = || select(vec!["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]);
    prop_oneof![
        3 => item().prop_map(Request::Insert),
        3 => (key(), update(), condition(), images()).prop_map(
            |(key, update, condition, returns)| Request::Update { key, update, condition, returns }
        ),
        1 => (key(), condition(), select(vec!["NONE", "ALL_OLD"])).prop_map(
            |(key, condition, returns)| Request::Delete { key, condition, returns }
        ),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    let limit = || proptest::option::of(1_usize..4);
    let page =
        (any::<bool>(), limit()).prop_map(|(is_backward, limit)| Page { is_backward, limit });
    prop_oneof![
        6 => write(),
        1 => key().prop_map(|key| Request::Get { key }),
        2 => (select(vec!["p", "q"]), sort(), condition(), page).prop_map(
            |(pk, sort, filter, page)| Request::Query { pk: pk.to_owned(), sort, filter, page }
        ),
        1 => (condition(), limit()).prop_map(|(filter, limit)| Request::Scan { filter, limit }),
        2 => vec(write(), 1..4).prop_map(Request::Transaction),
    ]
}

/// An answer without what the languages say differently: items or images, or an error.
#[derive(Debug, PartialEq)]
enum Answer {
    Items(Vec<serde_json::Value>),
    Error(String),
}

/// Sends the operation.
fn operation(service: &Service, request: &Request) -> Answer {
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

/// Removes empty pages at the end: a statement that reads one item knows that nothing follows.
fn without_end(mut pages: Vec<serde_json::Value>) -> Vec<serde_json::Value> {
    while pages.last().is_some_and(|page| page.as_array().is_some_and(Vec::is_empty)) {
        pages.pop();
    }
    pages
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

/// An error without the name of an expression, and without the code of a duplicate.
fn plain(body: &str) -> String {
    let error = error_of(body);
    let conditional = "ConditionalCheckFailedException: The conditional request failed";
    let error = error
        .replace("DuplicateItemException: Duplicate primary key exists in table", conditional)
        .replace("Duplicate primary key exists in table", "The conditional request failed")
        .replace("DuplicateItem", "ConditionalCheckFailed");
    ["Invalid UpdateExpression: ", "Invalid ConditionExpression: ", "Invalid FilterExpression: "]
        .iter()
        .fold(error, |error, prefix| error.replace(prefix, ""))
}

/// Sends the statement; `None` if it would be too long.
fn statement(service: &Service, request: &Request) -> Option<Answer> {
    match request {
        Request::Query { page, .. } => all_pages(service, request, page.limit),
        Request::Scan { limit, .. } => all_pages(service, request, *limit),
        Request::Transaction(writes) => {
            let members: Option<Vec<String>> = writes.iter().map(|it| member(it, false)).collect();
            let body = format!(r#"{{"TransactStatements":[{}]}}"#, members?.join(","));
            Some(items(service, "ExecuteTransaction", &body).0)
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
        Request::Query { pk, sort, filter, page } => {
            statement.push("SELECT * FROM ttt WHERE pk = ");
            statement.value(&Value::from(pk.as_str()));
            if let Some(Sort { test, values }) = sort {
                statement.push(" AND ");
                let mut parts = test.split('?');
                statement.push(parts.next().unwrap_or_default());
                for (part, value) in parts.zip(values) {
                    statement.value(&Value::from(value.as_str()));
                    statement.push(part);
                }
            }
            statement.and(filter.as_ref());
            statement.push(if page.is_backward { " ORDER BY sk DESC" } else { "" });
        }
        Request::Scan { filter, .. } => {
            statement.push("SELECT * FROM ttt");
            if let Some(filter) = filter {
                statement.push(" WHERE ");
                statement.condition(filter);
            }
        }
        Request::Transaction(_) => panic!("not one statement"),
    }
    statement.json()
}

fn filter(statement: &mut Statement, key: &Key, condition: Option<&Condition>) {
    statement.push(" WHERE pk = ");
    statement.value(&Value::from(key.pk.as_str()));
    statement.push(" AND sk = ");
    statement.value(&Value::from(key.sk.as_str()));
    statement.and(condition);
}

/// Whether the expressions are too long for the operation, or the statement for its own.
fn is_too_long(answer: &Answer) -> bool {
    matches!(answer, Answer::Error(why) if why.contains("Expression size has exceeded"))
}

proptest! {
    #[test]
    fn statements_do_what_operations_do(requests in vec(request(), 1..16)) {
        let (left, right) = (service(), service());
        for request in &requests {
            let Some(stated) = statement(&right, request) else { continue };
            let operated = operation(&left, request);
            if is_too_long(&operated) {
                // The states may differ from here on.
                return Ok(());
            }
            prop_assert_eq!(&stated, &operated, "{:?}", request);
            let scan = |service: &Service| service.ok("Scan", r#"{"TableName":"ttt"}"#);
            prop_assert_eq!(scan(&left), scan(&right), "after {:?}", request);
        }
    }
}
