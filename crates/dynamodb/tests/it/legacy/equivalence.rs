//! Random requests without expressions get the answers of the same requests with them, and leave the
//! same items behind. What the service words differently is compared by its code.

use std::collections::BTreeMap;

use keyloom_testkit::cases;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;

use crate::service::Service;

const NAMES: [&str; 7] = ["n", "s", "v", "m.a", "size", "due", "title"];
const ORDERED: [&str; 9] = [
    r#"{"N":"1"}"#,
    r#"{"N":"2"}"#,
    r#"{"N":"1.50"}"#,
    r#"{"S":"a"}"#,
    r#"{"S":"ab"}"#,
    r#"{"S":""}"#,
    r#"{"B":"AQ=="}"#,
    r#"{"B":"AQI="}"#,
    r#"{"S":"b"}"#,
];
const SINGLE: [&str; 2] = [r#"{"BOOL":true}"#, r#"{"NULL":true}"#];
const SETS: [&str; 5] = [
    r#"{"SS":["a"]}"#,
    r#"{"SS":["a","ab"]}"#,
    r#"{"NS":["1","2"]}"#,
    r#"{"NS":["2"]}"#,
    r#"{"BS":["AQ=="]}"#,
];
const LISTS: [&str; 3] =
    [r#"{"L":[{"N":"1"},{"S":"a"}]}"#, r#"{"L":[]}"#, r#"{"L":[{"NULL":true}]}"#];
const MAPS: [&str; 1] = [r#"{"M":{"a":{"N":"1"}}}"#];

/// The names and values of an expression, and its text so far.
#[derive(Clone, Debug, Default)]
struct Placeholders {
    names: Vec<String>,
    values: Vec<String>,
}

impl Placeholders {
    fn name(&mut self, name: &str) -> String {
        self.names.push(format!(r##""#n{}":"{name}""##, self.names.len()));
        format!("#n{}", self.names.len() - 1)
    }

    fn value(&mut self, value: &str) -> String {
        self.values.push(format!(r#"":v{}":{value}"#, self.values.len()));
        format!(":v{}", self.values.len() - 1)
    }

    /// The members of the request.
    fn members(&self) -> String {
        let mut members = String::new();
        for (name, entries) in [("Names", &self.names), ("Values", &self.values)] {
            if !entries.is_empty() {
                members += &format!(r#","ExpressionAttribute{name}":{{{}}}"#, entries.join(","));
            }
        }
        members
    }
}

/// A test of one attribute.
#[derive(Clone, Debug)]
struct Test {
    operator: &'static str,
    arguments: Vec<&'static str>,
}

impl Test {
    fn legacy(&self, name: &str) -> String {
        let arguments = self.arguments.join(",");
        format!(
            r#""{name}":{{"ComparisonOperator":"{}","AttributeValueList":[{arguments}]}}"#,
            self.operator
        )
    }

    fn expression(&self, name: &str, placeholders: &mut Placeholders) -> String {
        let name = placeholders.name(name);
        let values: Vec<String> =
            self.arguments.iter().map(|value| placeholders.value(value)).collect();
        let symbol = |symbol: &str| format!("{name} {symbol} {}", values.concat());
        match self.operator {
            "EQ" => symbol("="),
            "NE" => symbol("<>"),
            "LT" => symbol("<"),
            "LE" => symbol("<="),
            "GT" => symbol(">"),
            "GE" => symbol(">="),
            "NOT_NULL" => format!("attribute_exists({name})"),
            "NULL" => format!("attribute_not_exists({name})"),
            "CONTAINS" => format!("contains({name}, {})", values.concat()),
            "NOT_CONTAINS" => {
                format!("(attribute_exists({name}) AND NOT contains({name}, {}))", values.concat())
            }
            "BEGINS_WITH" => format!("begins_with({name}, {})", values.concat()),
            "IN" => format!("{name} IN ({})", values.join(", ")),
            _ => format!("{name} BETWEEN {}", values.join(" AND ")),
        }
    }
}

/// Tests by attribute, and whether one of them is enough.
#[derive(Clone, Debug)]
struct Tests {
    by_name: BTreeMap<&'static str, Test>,
    is_any: bool,
}

impl Tests {
    /// The legacy members of the request, with a leading comma.
    fn legacy(&self, parameter: &str) -> String {
        let tests: Vec<String> =
            self.by_name.iter().map(|(name, test)| test.legacy(name)).collect();
        let operator = match (self.by_name.len(), self.is_any) {
            (0 | 1, _) => "",
            (_, true) => r#","ConditionalOperator":"OR""#,
            (_, false) => r#","ConditionalOperator":"AND""#,
        };
        format!(r#","{parameter}":{{{}}}{operator}"#, tests.join(","))
    }

    fn expression(&self, parameter: &str, placeholders: &mut Placeholders) -> String {
        let tests: Vec<String> =
            self.by_name.iter().map(|(name, test)| test.expression(name, placeholders)).collect();
        if tests.is_empty() {
            return String::new();
        }
        format!(r#","{parameter}":"{}""#, tests.join(if self.is_any { " OR " } else { " AND " }))
    }
}

/// A request in both forms.
#[derive(Clone, Debug)]
struct Request {
    operation: &'static str,
    legacy: String,
    expression: String,
}

fn any_value() -> impl Strategy<Value = &'static str> {
    let all = [&ORDERED[..], &SINGLE, &SETS, &LISTS, &MAPS].concat();
    select(all)
}

fn tests(names: &'static [&'static str]) -> impl Strategy<Value = Tests> {
    (btree_map(select(names), any_test(), 0..4), any::<bool>())
        .prop_map(|(by_name, is_any)| Tests { by_name, is_any })
}

fn any_test() -> impl Strategy<Value = Test> {
    let of = |operators: &'static [&'static str], values: Vec<&'static str>| {
        (select(operators), select(values))
            .prop_map(|(operator, value)| Test { operator, arguments: vec![value] })
    };
    let members = [&ORDERED[..], &SINGLE].concat();
    let prefixes: Vec<_> = ORDERED.into_iter().filter(|value| !value.contains("\"N\"")).collect();
    prop_oneof![
        (select(vec!["EQ", "NE"]), any_value())
            .prop_map(|(operator, value)| Test { operator, arguments: vec![value] }),
        of(&["LT", "LE", "GT", "GE"], ORDERED.to_vec()),
        select(vec!["NULL", "NOT_NULL"]).prop_map(|operator| Test { operator, arguments: vec![] }),
        of(&["CONTAINS", "NOT_CONTAINS"], members),
        of(&["BEGINS_WITH"], prefixes),
        select(vec![r#"{"N""#, r#"{"S""#]).prop_flat_map(|kind| {
            let values: Vec<_> =
                ORDERED.into_iter().filter(|value| value.starts_with(kind)).collect();
            vec(select(values), 1..4).prop_map(|arguments| Test { operator: "IN", arguments })
        }),
        select(vec![[0, 1], [0, 2], [3, 4], [5, 8], [6, 7], [4, 4]]).prop_map(|[low, high]| {
            Test { operator: "BETWEEN", arguments: vec![ORDERED[low], ORDERED[high]] }
        }),
    ]
}

/// The key of one of a few items.
fn key() -> impl Strategy<Value = String> {
    (select(vec!["x", "y"]), select(vec!["a", "ab", "b"]))
        .prop_map(|(list, id)| format!(r#""list":{{"S":"{list}"}},"id":{{"S":"{id}"}}"#))
}

/// An item, most of whose index keys have the right types.
fn item() -> impl Strategy<Value = String> {
    let attributes = btree_map(select(NAMES[..5].to_vec()), any_value(), 0..4);
    let (due, title) = (option::of(0..4_u8), option::of(select(vec!["a", "ab", "b"])));
    (key(), attributes, due, title).prop_map(|(key, attributes, due, title)| {
        let mut item = key;
        attributes.iter().for_each(|(name, value)| item += &format!(r#","{name}":{value}"#));
        due.iter().for_each(|due| item += &format!(r#","due":{{"N":"{due}"}}"#));
        title.iter().for_each(|title| item += &format!(r#","title":{{"S":"{title}"}}"#));
        format!("{{{item}}}")
    })
}

const ANY_NAME: &[&str] = &["n", "s", "v", "m.a", "size", "due", "title", "list", "id"];

fn put() -> impl Strategy<Value = Request> {
    (item(), option::of(tests(ANY_NAME))).prop_map(|(item, tests)| {
        let head = format!(r#"{{"TableName":"tasks","Item":{item},"ReturnValues":"ALL_OLD""#);
        conditional("PutItem", &head, &head, tests.as_ref(), Placeholders::default())
    })
}

fn delete() -> impl Strategy<Value = Request> {
    (key(), option::of(tests(ANY_NAME))).prop_map(|(key, tests)| {
        let head = format!(r#"{{"TableName":"tasks","Key":{{{key}}},"ReturnValues":"ALL_OLD""#);
        conditional("DeleteItem", &head, &head, tests.as_ref(), Placeholders::default())
    })
}

/// Adds the condition to a write.
fn conditional(
    operation: &'static str,
    legacy: &str,
    expression: &str,
    tests: Option<&Tests>,
    mut placeholders: Placeholders,
) -> Request {
    let expected = tests.map(|tests| tests.legacy("Expected")).unwrap_or_default();
    let condition = tests
        .map(|tests| tests.expression("ConditionExpression", &mut placeholders))
        .unwrap_or_default();
    Request {
        operation,
        legacy: format!("{legacy}{expected}}}"),
        expression: format!("{expression}{condition}{}}}", placeholders.members()),
    }
}

/// What to do with one attribute: a section of an expression, the form of its part there, and the
/// legacy action with its value.
#[derive(Clone, Debug)]
struct Change {
    section: &'static str,
    action: &'static str,
    value: Option<&'static str>,
}

impl Change {
    fn legacy(&self, name: &str) -> String {
        let value = self.value.map(|value| format!(r#","Value":{value}"#)).unwrap_or_default();
        format!(r#""{name}":{{"Action":"{}"{value}}}"#, self.action)
    }

    fn expression(&self, name: &str, placeholders: &mut Placeholders) -> String {
        let name = placeholders.name(name);
        match (self.section, self.value) {
            (_, None) => name,
            ("SET", Some(value)) if self.action == "ADD" => {
                let empty = placeholders.value(r#"{"L":[]}"#);
                let value = placeholders.value(value);
                format!("{name} = list_append(if_not_exists({name}, {empty}), {value})")
            }
            ("SET", Some(value)) => format!("{name} = {}", placeholders.value(value)),
            (_, Some(value)) => format!("{name} {}", placeholders.value(value)),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let change = |section, action| move |value| Change { section, action, value: Some(value) };
    let addable = [&ORDERED[..2], &SETS].concat();
    prop_oneof![
        3 => any_value().prop_map(change("SET", "PUT")),
        2 => select(addable).prop_map(change("ADD", "ADD")),
        1 => select(LISTS.to_vec()).prop_map(change("SET", "ADD")),
        1 => select(SETS.to_vec()).prop_map(change("DELETE", "DELETE")),
        2 => Just(Change { section: "REMOVE", action: "DELETE", value: None }),
    ]
}

fn update() -> impl Strategy<Value = Request> {
    let changes = btree_map(select(NAMES.to_vec()), change(), 0..4);
    let returns = select(vec!["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]);
    let units = select(vec!["NONE", "INDEXES"]);
    (key(), changes, returns, units, option::of(tests(ANY_NAME))).prop_map(
        |(key, changes, returns, units, tests)| {
            let head = format!(
                r#"{{"TableName":"tasks","Key":{{{key}}},"ReturnValues":"{returns}","ReturnConsumedCapacity":"{units}""#
            );
            let legacy: Vec<String> = changes.iter().map(|(n, change)| change.legacy(n)).collect();
            let legacy = format!(r#"{head},"AttributeUpdates":{{{}}}"#, legacy.join(","));
            let mut placeholders = Placeholders::default();
            let expression = match update_expression(&changes, &mut placeholders) {
                text if text.is_empty() => head,
                text => format!(r#"{head},"UpdateExpression":"{text}""#),
            };
            conditional("UpdateItem", &legacy, &expression, tests.as_ref(), placeholders)
        },
    )
}

fn update_expression(
    changes: &BTreeMap<&'static str, Change>,
    placeholders: &mut Placeholders,
) -> String {
    let sections = ["SET", "REMOVE", "ADD", "DELETE"].into_iter().filter_map(|section| {
        let parts = changes.iter().filter(|(_, change)| change.section == section);
        let parts: Vec<String> =
            parts.map(|(name, change)| change.expression(name, placeholders)).collect();
        (!parts.is_empty()).then(|| format!("{section} {}", parts.join(", ")))
    });
    sections.collect::<Vec<_>>().join(" ")
}

/// `AttributesToGet`, and the same as an expression.
fn projections(names: Option<&[&str]>, placeholders: &mut Placeholders) -> [String; 2] {
    let Some(names) = names else { return [String::new(), String::new()] };
    let quoted: Vec<String> = names.iter().map(|name| format!(r#""{name}""#)).collect();
    let replaced: Vec<String> = names.iter().map(|name| placeholders.name(name)).collect();
    [
        format!(r#","AttributesToGet":[{}]"#, quoted.join(",")),
        format!(r#","ProjectionExpression":"{}""#, replaced.join(", ")),
    ]
}

fn names() -> impl Strategy<Value = Option<Vec<&'static str>>> {
    option::of(btree_set(select(ANY_NAME), 1..4).prop_map(|set| set.into_iter().collect()))
}

fn get() -> impl Strategy<Value = Request> {
    (key(), names(), any::<bool>()).prop_map(|(key, names, is_batch)| {
        let mut placeholders = Placeholders::default();
        let [legacy, expression] = projections(names.as_deref(), &mut placeholders);
        let expression = format!("{expression}{}", placeholders.members());
        let of = |rest: &str| match is_batch {
            true => format!(r#"{{"RequestItems":{{"tasks":{{"Keys":[{{{key}}}]{rest}}}}}}}"#),
            false => format!(r#"{{"TableName":"tasks","Key":{{{key}}}{rest}}}"#),
        };
        let operation = if is_batch { "BatchGetItem" } else { "GetItem" };
        Request { operation, legacy: of(&legacy), expression: of(&expression) }
    })
}

fn scan() -> impl Strategy<Value = Request> {
    let rest = select(vec!["", r#","Limit":2"#, r#","IndexName":"by_title""#]);
    (tests(ANY_NAME), names(), rest).prop_map(|(tests, names, rest)| {
        let mut placeholders = Placeholders::default();
        let [attributes, projection] = projections(names.as_deref(), &mut placeholders);
        let head = format!(r#"{{"TableName":"tasks"{rest}"#);
        let filter = tests.expression("FilterExpression", &mut placeholders);
        Request {
            operation: "Scan",
            legacy: format!("{head}{attributes}{}}}", tests.legacy("ScanFilter")),
            expression: format!("{head}{projection}{filter}{}}}", placeholders.members()),
        }
    })
}

/// The sort key and a test of it, for the table and its indexes.
fn sort_test() -> impl Strategy<Value = (&'static str, &'static str, Test)> {
    let operators = select(vec!["EQ", "LT", "LE", "GT", "GE", "BEGINS_WITH"]);
    let texts = select(vec![r#"{"S":"a"}"#, r#"{"S":"ab"}"#, r#"{"S":"b"}"#, r#"{"B":"AQ=="}"#]);
    let one =
        (operators, texts).prop_map(|(operator, value)| Test { operator, arguments: vec![value] });
    let between =
        Just(Test { operator: "BETWEEN", arguments: vec![r#"{"S":"a"}"#, r#"{"S":"ab"}"#] });
    let number = (select(vec!["EQ", "LT", "GE"]), select(vec![r#"{"N":"1"}"#, r#"{"N":"2"}"#]))
        .prop_map(|(operator, value)| Test { operator, arguments: vec![value] });
    let text = prop_oneof![4 => one, 1 => between];
    let place = select(vec![("", "id"), (r#","IndexName":"by_title""#, "title")]);
    prop_oneof![
        4 => (place, text).prop_map(|((index, name), test)| (index, name, test)),
        1 => number.prop_map(|test| (r#","IndexName":"by_due""#, "due", test)),
    ]
}

const FILTERED: &[&str] = &["n", "s", "v", "m.a", "size", "id", "title"];

fn query() -> impl Strategy<Value = Request> {
    let list = select(vec![r#"{"S":"x"}"#, r#"{"S":"y"}"#]);
    let rest =
        select(vec!["", r#","Limit":1"#, r#","ScanIndexForward":false"#, r#","Select":"COUNT""#]);
    (list, option::of(sort_test()), tests(FILTERED), names(), rest).prop_map(
        |(list, sort, filter, names, rest)| {
            let names = names.filter(|_| !rest.contains("COUNT"));
            let mut placeholders = Placeholders::default();
            let [attributes, projection] = projections(names.as_deref(), &mut placeholders);
            let partition = Test { operator: "EQ", arguments: vec![list] };
            let mut legacy = partition.legacy("list");
            let mut key = partition.expression("list", &mut placeholders);
            let index = sort.as_ref().map_or("", |(index, _, _)| index);
            if let Some((_, name, test)) = &sort {
                legacy += &format!(",{}", test.legacy(name));
                key += &format!(" AND {}", test.expression(name, &mut placeholders));
            }
            let head = format!(r#"{{"TableName":"tasks"{rest}{index}"#);
            let condition = filter.expression("FilterExpression", &mut placeholders);
            let filter = filter.legacy("QueryFilter");
            Request {
                operation: "Query",
                legacy: format!(r#"{head}{attributes}{filter},"KeyConditions":{{{legacy}}}}}"#),
                expression: format!(
                    r#"{head}{projection}{condition},"KeyConditionExpression":"{key}"{}}}"#,
                    placeholders.members()
                ),
            }
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![3 => put(), 3 => update(), 2 => delete(), 1 => get(), 2 => query(), 1 => scan()]
}

/// The part of a response that both forms have in common.
fn comparable(status: u16, body: &str) -> String {
    let is_worded = status != 200 && !body.contains("ConditionalCheckFailedException");
    let (code, _) = body.split_once(',').filter(|_| is_worded).unwrap_or((body, ""));
    code.to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn both_forms_get_the_same_answers(items in vec(item(), 0..5), requests in vec(request(), 1..12)) {
        let (legacy, expression) = (Service::with_tasks(), Service::with_tasks());
        for item in &items {
            let put = format!(r#"{{"TableName":"tasks","Item":{item}}}"#);
            prop_assert_eq!(legacy.ok("PutItem", &put), expression.ok("PutItem", &put));
        }
        for request in &requests {
            let found = legacy.call(request.operation, &request.legacy);
            let expected = expression.call(request.operation, &request.expression);
            prop_assert_eq!(
                comparable(found.status, &found.body),
                comparable(expected.status, &expected.body),
                "{}\n{}\n{}", request.operation, request.legacy, request.expression
            );
            let all = r#"{"TableName":"tasks"}"#;
            prop_assert_eq!(legacy.ok("Scan", all), expression.ok("Scan", all));
        }
    }
}

/// The property would hold of requests that are all rejected, too.
#[test]
fn most_random_requests_are_answered() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let service = Service::with_tasks();
    let (mut answered, mut failed, mut all) = (BTreeMap::<&str, u32>::new(), 0, 0);
    for _ in 0..2000 {
        let request = request().new_tree(&mut runner).unwrap().current();
        let reply = service.call(request.operation, &request.legacy);
        all += 1;
        *answered.entry(request.operation).or_default() += u32::from(reply.status == 200);
        failed += u32::from(reply.body.contains("ConditionalCheckFailedException"));
    }
    let ok: u32 = answered.values().sum();
    assert!(ok > all / 2, "{ok} of {all}: {answered:?}");
    assert!(failed > all / 20, "{failed} of {all} conditions failed");
    assert!(answered.values().all(|count| *count > 20), "{answered:?}");
}
