//! Index keys of several attributes, and of each type.

use keyloom_store::{Direction, Invalid, KeySchema, KeyType, Query, TableName, TableSpec};
use keyloom_value::{Item, KeyCondition, KeyTest, Value};

use super::case::{Case, claims};
use crate::client::refused;
use crate::sample::{bytes, global, id_table, index_name, item, number, values};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_key_of_eight_attributes_is_ordered_from_left_to_right,
    a_key_of_eight_attributes_pages_at_every_size,
    sort_attributes_are_tested_from_left_to_right,
    every_partition_attribute_is_tested,
    an_item_needs_all_eight_attributes,
    values_of_two_attributes_never_run_together,
];

/// Four partition attributes, and four sort attributes of different types.
fn wide() -> KeySchema {
    let partition = KeySchema::partition("p1", KeyType::S)
        .and_partition("p2", KeyType::N)
        .and_partition("p3", KeyType::B)
        .and_partition("p4", KeyType::S);
    partition
        .and_sort("s1", KeyType::N)
        .and_sort("s2", KeyType::S)
        .and_sort("s3", KeyType::B)
        .and_sort("s4", KeyType::N)
}

/// Every combination of two values for each sort attribute, twice, in two partitions. `at` is the
/// position in the order of the index.
fn filled(client: &Client) -> TableName {
    let table =
        client.make(TableSpec { indexes: vec![global("wide", wide())], ..id_table("things") });
    for at in (0..64_usize).map(|at| at * 37 % 64) {
        let bit = |weight: usize| at / weight % 2;
        let item = item! {
            id: format!("{:02}", at % 2 * 50 + at),
            p1: "p",
            p2: if at < 32 { number("2") } else { number("3") },
            p3: bytes(b"\0"),
            p4: "q",
            s1: [number("-1"), number("0.5")][bit(16)].clone(),
            s2: ["a", "a\0"][bit(8)],
            s3: [bytes(b"\0"), bytes(b"\0\xFF")][bit(4)].clone(),
            s4: [number("9"), number("10")][bit(2)].clone(),
            at: at as u64,
        };
        client.fill(&table, [item]);
    }
    table
}

fn partition() -> KeyCondition {
    KeyCondition::equal("p1", "p")
        .and("p2", KeyTest::Equal(number("2.0")))
        .and("p3", KeyTest::Equal(bytes(b"\0")))
        .and("p4", KeyTest::Equal(Value::from("q")))
}

fn found(client: &Client, table: &TableName, key: KeyCondition) -> Vec<Value> {
    values(&client.query_items(&query(table, key)), "at")
}

fn query(table: &TableName, key: KeyCondition) -> Query {
    Query { index: Some(index_name("wide")), ..Query::new(table, key) }
}

fn ats(positions: impl IntoIterator<Item = u64>) -> Vec<Value> {
    positions.into_iter().map(Value::from).collect()
}

fn a_key_of_eight_attributes_is_ordered_from_left_to_right(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    assert_eq!(found(&client, &table, partition()), ats(0..32));
}

fn a_key_of_eight_attributes_pages_at_every_size(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    let test = KeyTest::Equal(number("0.50"));
    for key in [partition(), partition().and("s1", test)] {
        for direction in [Direction::Forward, Direction::Backward] {
            let query = Query { direction, ..query(&table, key.clone()) };
            let whole = client.query_items(&query);
            for limit in 1..=33 {
                let paged = client.query_items(&Query { limit: Some(limit), ..query.clone() });
                assert_eq!(paged, whole, "pages of {limit}");
            }
        }
    }
}

fn sort_attributes_are_tested_from_left_to_right(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    let check = |tests: Vec<(&str, KeyTest)>, expected: Vec<Value>| {
        let key = tests.into_iter().fold(partition(), |key, (name, test)| key.and(name, test));
        let words = key.to_string();
        assert_eq!(found(&client, &table, key), expected, "{words}");
    };
    let s1 = || ("s1", KeyTest::Equal(number("-1.0")));
    let s2 = || ("s2", KeyTest::Equal(Value::from("a\0")));
    let s3 = || ("s3", KeyTest::Equal(bytes(b"\0")));
    check(vec![s1()], ats(0..16));
    check(vec![s1(), s2()], ats(8..16));
    check(vec![s1(), s2(), s3()], ats(8..12));
    check(vec![s1(), s2(), s3(), ("s4", KeyTest::Equal(number("1E1")))], ats(10..12));
    check(vec![("s1", KeyTest::Greater(number("-1")))], ats(16..32));
    check(vec![s1(), ("s2", KeyTest::BeginsWith(Value::from("a")))], ats(0..16));
    check(vec![s1(), ("s2", KeyTest::Greater(Value::from("a")))], ats(8..16));
    check(vec![s1(), s2(), ("s3", KeyTest::Less(bytes(b"\0\x01")))], ats(8..12));
    check(vec![s2(), s1()], ats(8..16));
    let between = KeyTest::Between(number("9.5"), number("11"));
    check(vec![s1(), s2(), s3(), ("s4", between)], ats(10..12));

    let refuse = |tests: Vec<(&str, KeyTest)>, attribute: &str, why| {
        let key = tests.into_iter().fold(partition(), |key, (name, test)| key.and(name, test));
        let expected = Invalid::KeyCondition { attribute: attribute.into(), why };
        refused(client.query(query(&table, key)), expected);
    };
    let gap = "a sort attribute before it is not tested";
    refuse(vec![s2()], "s2", gap);
    refuse(vec![s1(), s3()], "s3", gap);
    let range = "a sort attribute before it is not tested by equality";
    refuse(vec![("s1", KeyTest::Less(number("1"))), s2()], "s2", range);
    let prefix = KeyTest::BeginsWith(Value::from("a"));
    refuse(vec![s1(), ("s2", prefix), s3()], "s3", range);
}

fn every_partition_attribute_is_tested(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    for missing in ["p1", "p2", "p3", "p4"] {
        let mut key = partition();
        key.tests.retain(|(name, _)| name.as_str() != missing);
        let why = "a query must test every partition attribute";
        let expected = Invalid::KeyCondition { attribute: missing.into(), why };
        refused(client.query(query(&table, key)), expected);
    }
}

fn an_item_needs_all_eight_attributes(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table =
        client.make(TableSpec { indexes: vec![global("wide", wide())], ..id_table("things") });
    let whole = item! {
        id: "whole", p1: "p", p2: 2, p3: bytes(b"\0"), p4: "q", s1: 1, s2: "a", s3: bytes(b"b"), s4: 1,
    };
    client.fill(&table, [whole.clone()]);
    let names = ["p1", "p2", "p3", "p4", "s1", "s2", "s3", "s4"];
    for missing in names {
        let mut item = whole.clone();
        item.remove(missing);
        item.insert("id", missing);
        client.fill(&table, [item]);
    }
    let found: Vec<Item> = client.query_items(&query(&table, partition()));
    assert_eq!(found, [whole]);
}

fn values_of_two_attributes_never_run_together(subject: &dyn Subject) {
    let client = Client::of(subject);
    let key = KeySchema::partition("a", KeyType::S)
        .and_partition("b", KeyType::S)
        .and_sort("c", KeyType::S)
        .and_sort("d", KeyType::S);
    let table = client.make(TableSpec { indexes: vec![global("wide", key)], ..id_table("things") });
    let texts = ["x", "xx", "x\0", "\0x", "\0", "x\u{1}", "#"];
    let pairs = || texts.iter().flat_map(|left| texts.iter().map(move |right| (*left, *right)));
    client.fill(
        &table,
        pairs().enumerate().map(|(at, (left, right))| {
            item! { id: format!("{at}"), a: left, b: right, c: left, d: right }
        }),
    );
    for (left, right) in pairs() {
        let both = |a: &str, b: &str| {
            KeyCondition::equal(a, left).and(b, KeyTest::Equal(Value::from(right)))
        };
        assert_eq!(client.query_items(&query(&table, both("a", "b"))).len(), 1);
        let mut key = both("a", "b");
        key.tests.extend(both("c", "d").tests);
        assert_eq!(client.query_items(&query(&table, key)).len(), 1);
    }
}
