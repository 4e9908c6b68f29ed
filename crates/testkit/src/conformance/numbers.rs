//! Additions to numbers. Stores without them pass.

use std::collections::BTreeMap;

use keyloom_store::{
    AddNumber, Check, Feed, Get, IndexProjection, IndexScope, IndexSpec, Invalid, KeySchema,
    KeyType, OnFailure, Put, Query, Rank, Scan, TableName, TableSpec, TransactAction,
    TransactWrite,
};
use keyloom_value::{Condition, Item, KeyBytes, KeyCondition, Number, Score, Value};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{index_name, name};
use crate::{Client, Random, Subject};

pub(super) const CASES: &[Case] = claims![
    numbers_are_sums_and_disappear_at_zero,
    a_transaction_that_is_refused_adds_nothing,
    adding_to_an_item_with_other_attributes_is_refused,
    sums_are_added_exactly_or_not_at_all,
    ranked_items_are_ordered_by_their_numbers,
];

/// Items that hold numbers, and an index that ranks them.
fn tallies(client: &Client) -> Option<TableName> {
    if !client.adds_numbers() {
        return None;
    }
    let key = KeySchema::partition("pk", KeyType::B).and_sort("sk", KeyType::B);
    let mut spec = TableSpec::new(name("tallies"), key);
    spec.feed = Feed::Images;
    spec.indexes.push(IndexSpec {
        name: index_name("ranks"),
        scope: IndexScope::Global,
        key: KeySchema::partition("board", KeyType::B).and_sort("place", KeyType::B),
        projection: IndexProjection::Keys,
    });
    Some(client.make(spec))
}

fn key(what: &str) -> Item {
    Item::from([("pk", Value::B(what.as_bytes().to_vec())), ("sk", Value::B(vec![0]))])
}

fn add(table: &TableName, what: &str, change: i64) -> AddNumber {
    let (table, key) = (table.clone(), key(what));
    AddNumber { table, key, attribute: "n".into(), change, sums: vec![], rank: None }
}

fn ranked(table: &TableName, what: &str, change: i64) -> AddNumber {
    let rank = Rank {
        partition: ("board".into(), b"b".to_vec()),
        sort: ("place".into(), what.as_bytes().to_vec()),
        prefix_counts: b"steps".to_vec(),
    };
    AddNumber { rank: Some(rank), ..add(table, what, change) }
}

fn adding(numbers: Vec<AddNumber>) -> TransactWrite {
    TransactWrite { numbers, ..TransactWrite::default() }
}

fn number(client: &Client, table: &TableName, key: Item) -> Option<i64> {
    let item = accepted(client.get(Get::new(table, key)))?;
    Some(item.get("n").and_then(Value::as_n).and_then(Number::to_i64).expect("a number"))
}

fn numbers_are_sums_and_disappear_at_zero(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(table) = tallies(&client) else { return };
    accepted(client.transact_write(adding(vec![add(&table, "a", 2), add(&table, "b", -1)])));
    accepted(client.transact_write(adding(vec![add(&table, "a", 3), add(&table, "b", 1)])));
    assert_eq!(number(&client, &table, key("a")), Some(5));
    assert_eq!(number(&client, &table, key("b")), None);
    assert_eq!(client.feed(&table, 10), [], "numbers are not in feeds");
}

fn a_transaction_that_is_refused_adds_nothing(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(table) = tallies(&client) else { return };
    let check = Check {
        table: table.clone(),
        key: key("other"),
        condition: Condition::exists("pk"),
        on_failure: OnFailure::Nothing,
    };
    let actions = vec![TransactAction::Check(check)];
    let refused = TransactWrite { actions, ..adding(vec![add(&table, "a", 1)]) };
    assert!(client.transact_write(refused).is_err());
    assert_eq!(number(&client, &table, key("a")), None);
    let token = Some("once".to_owned());
    for _ in 0..2 {
        let token = token.clone();
        accepted(
            client.transact_write(TransactWrite { token, ..adding(vec![add(&table, "a", 1)]) }),
        );
    }
    assert_eq!(number(&client, &table, key("a")), Some(1), "a token counts once");
}

fn adding_to_an_item_with_other_attributes_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(table) = tallies(&client) else { return };
    let mut item = key("a");
    item.insert("n", 1);
    item.insert("more", "text");
    accepted(client.put(Put::new(&table, item)));
    let wrong = || Invalid::NotAddable { attribute: "n".into() };
    refused(client.transact_write(adding(vec![add(&table, "a", 1)])), wrong());
    accepted(client.transact_write(adding(vec![add(&table, "b", i64::MAX)])));
    refused(client.transact_write(adding(vec![add(&table, "b", 1)])), wrong());
    assert_eq!(number(&client, &table, key("b")), Some(i64::MAX));
}

fn sums_are_added_exactly_or_not_at_all(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(table) = tallies(&client) else { return };
    let number = |text: &str| text.parse::<Number>().expect("a number");
    let add = |change, sum: &str, other: &str| {
        let sums = vec![("sum".into(), number(sum)), ("other".into(), number(other))];
        adding(vec![AddNumber { sums, ..add(&table, "a", change) }])
    };
    let stored = || accepted(client.get(Get::new(&table, key("a"))));
    let holds = |count: i64, sum: &str, other: &str| {
        let mut item = key("a");
        item.insert("n", count);
        if sum != "0" {
            item.insert("sum", Value::N(number(sum)));
        }
        item.insert("other", Value::N(number(other)));
        Some(item)
    };
    accepted(client.transact_write(add(1, "0.1", "9007199254740993")));
    accepted(client.transact_write(add(1, "0.2", "1")));
    assert_eq!(stored(), holds(2, "0.3", "9007199254740994"));
    accepted(client.transact_write(add(0, "-0.3", "0")));
    assert_eq!(stored(), holds(2, "0", "9007199254740994"), "a sum of 0 has no attribute");
    let wrong = || Invalid::NotAddable { attribute: "sum".into() };
    accepted(client.transact_write(add(1, "1E37", "0")));
    refused(client.transact_write(add(1, "0.1", "5")), wrong());
    assert_eq!(stored(), holds(3, "1E37", "9007199254740994"), "nothing is added");
    accepted(client.transact_write(add(-3, "-1E37", "-9007199254740994")));
    assert_eq!(stored(), None, "the number is 0");
}

/// Asserts that ranks match a sort, and that every prefix count is the number of scores with the
/// prefix.
fn ranked_items_are_ordered_by_their_numbers(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(table) = tallies(&client) else { return };
    let mut random = Random::new(11);
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for _ in 0..200 {
        let names = ["a", "b", "c", "d", "e"];
        let (one, other) = (*random.pick(&names), *random.pick(&names));
        let changes = [(one, *random.pick(&[1, 1, 9, 90, -1])), (other, -1)];
        let mut numbers: BTreeMap<&str, i64> = BTreeMap::new();
        for (name, change) in changes {
            *numbers.entry(name).or_default() += change;
            *sums.entry(name.to_owned()).or_default() += change;
        }
        let numbers = numbers.into_iter().map(|(name, change)| ranked(&table, name, change));
        accepted(client.transact_write(adding(numbers.collect())));
        check_ranks(&client, &table, &sums);
    }
}

fn check_ranks(client: &Client, table: &TableName, sums: &BTreeMap<String, i64>) {
    let there: Vec<(&String, i64)> =
        sums.iter().map(|(name, sum)| (name, *sum)).filter(|(_, sum)| *sum != 0).collect();
    let mut sorted = there.clone();
    sorted.sort_by_key(|(name, sum)| (-sum, (*name).clone()));
    let mut query = Query::new(table, KeyCondition::equal("board", Value::B(b"b".to_vec())));
    query.index = Some(index_name("ranks"));
    let page = accepted(client.query(query));
    let found = page.items.iter().map(|item| item.get("pk").and_then(Value::as_b).expect("a key"));
    let expected: Vec<&[u8]> = sorted.iter().map(|(name, _)| name.as_bytes()).collect();
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let mut prefix_counts: BTreeMap<KeyBytes, i64> = BTreeMap::new();
    for (_, sum) in there {
        for key in Score::new(&Number::from(sum)).prefix_count_keys() {
            *prefix_counts.entry(key).or_default() += 1;
        }
    }
    let all = accepted(client.scan(Scan::new(table))).items;
    let is_prefix_count = |item: &&Item| item.get("pk").and_then(Value::as_b) == Some(b"steps");
    assert_eq!(all.iter().filter(is_prefix_count).count(), prefix_counts.len());
    for (sort, count) in prefix_counts {
        let partition = Value::B(b"steps".to_vec());
        let key = Item::from([("pk", partition), ("sk", Value::B(sort.into_vec()))]);
        assert_eq!(number(client, table, key), Some(count));
    }
}
