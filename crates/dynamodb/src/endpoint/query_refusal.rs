//! The service's messages for key conditions and start keys that do not fit a table.

use keyloom_store::{IndexSpec, KeySchema, Query, TableSpec};
use keyloom_value::{Item, KeyCondition, KeyTest, Value};

/// Returns the service's message for an invalid key condition or start key.
pub(super) fn range_message(spec: &TableSpec, query: &Query) -> String {
    let index = query.index.as_ref();
    let index = index.and_then(|name| spec.indexes.iter().find(|index| index.name == *name));
    let schema = index.map_or(&spec.key, |index| &index.key);
    let text = key_message(schema, &query.key);
    let start = || query.start.as_ref().map(|start| start_message(spec, index, query, start));
    text.or_else(start).unwrap_or_else(|| "Query key condition not supported".to_owned())
}

fn key_message(schema: &KeySchema, key: &KeyCondition) -> Option<String> {
    let test = |name: &str| key.tests.iter().find(|(tested, _)| tested.as_str() == name);
    for part in &schema.partition {
        match test(part.name.as_str()) {
            None => {
                return Some(format!("Query condition missed key schema element: {}", part.name));
            }
            Some((_, KeyTest::Equal(_))) => {}
            Some(_) => return Some("Query key condition not supported".to_owned()),
        }
    }
    let foreign = key.tests.iter().any(|(name, _)| !schema.has(name));
    match schema.sort.iter().find(|part| test(part.name.as_str()).is_none()) {
        Some(part) if foreign => {
            Some(format!("Query condition missed key schema element: {}", part.name))
        }
        _ if foreign => Some("Query key condition not supported".to_owned()),
        _ => sort_message(schema, key),
    }
}

/// Sort attributes must be tested from left to right, and only the last test may be a range.
fn sort_message(schema: &KeySchema, key: &KeyCondition) -> Option<String> {
    let tests: Vec<_> = schema
        .sort
        .iter()
        .map(|part| key.tests.iter().find(|(name, _)| *name == part.name).map(|(_, test)| test))
        .collect();
    let tested = tests.iter().take_while(|test| test.is_some()).count();
    let has_gap = tests.iter().skip(tested).any(Option::is_some);
    let early_range = tests
        .iter()
        .take(tested.saturating_sub(1))
        .any(|test| !matches!(test, Some(KeyTest::Equal(_))));
    let is_number_prefix =
        tests.iter().flatten().any(|test| matches!(test, KeyTest::BeginsWith(Value::N(_))));
    (has_gap || early_range || is_number_prefix)
        .then(|| "Query key condition not supported".to_owned())
}

fn start_message(
    spec: &TableSpec,
    index: Option<&IndexSpec>,
    query: &Query,
    start: &Item,
) -> String {
    let keys = || std::iter::once(&spec.key).chain(index.map(|index| &index.key));
    let complete = keys()
        .flat_map(KeySchema::attributes)
        .all(|part| start.get(part.name.as_str()).is_some_and(|value| part.key_type.admits(value)));
    let extra = start.names().any(|name| !keys().any(|schema| schema.has(name)));
    if !complete || extra {
        return "The provided starting key is invalid".to_owned();
    }
    let schema = index.map_or(&spec.key, |index| &index.key);
    let has_range = query.key.tests.len() > schema.partition.len();
    let in_partition = schema.partition.iter().all(|part| {
        let test = query.key.tests.iter().find(|(name, _)| *name == part.name);
        let value = start.get(part.name.as_str());
        test.zip(value).is_some_and(|((_, test), value)| test.matches(value))
    });
    match (in_partition, has_range) {
        (false, false) => "The provided starting key is outside query boundaries based on \
                           provided conditions"
            .to_owned(),
        (true, true) => {
            "The provided starting key does not match the range key predicate".to_owned()
        }
        (false, true) => "The query can return at most one row and cannot be restarted".to_owned(),
        (true, false) => "The provided starting key is invalid".to_owned(),
    }
}
