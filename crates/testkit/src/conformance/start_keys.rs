//! Start keys of queries: any key that the query could have returned, and no other.

use keyloom_store::{Direction, Invalid, KeySchema, KeyType, Query, TableName, TableSpec};
use keyloom_value::{Item, KeyCondition, KeyTest, Value};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{global, index_name, item, local, table_of, text_table, values};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_start_key_need_not_be_an_item,
    a_start_key_of_another_partition_is_refused,
    a_start_key_outside_the_range_is_refused,
    a_start_key_of_another_shape_is_refused,
    a_start_key_of_an_index_has_both_keys,
    a_start_key_of_an_index_must_be_in_its_range,
];

fn numbered(client: &Client) -> TableName {
    let table = client.make(table_of("things", KeyType::S, KeyType::N));
    client.fill(&table, [0, 10, 20, 30].map(|sk| item! { pk: "a", sk: sk }));
    table
}

fn in_a(table: &TableName, test: Option<KeyTest>) -> Query {
    let key = KeyCondition::equal("pk", "a");
    Query::new(table, test.into_iter().fold(key, |key, test| key.and("sk", test)))
}

fn v(number: i64) -> Value {
    Value::from(number)
}

fn a_start_key_need_not_be_an_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = numbered(&client);
    let check = |start: i64, direction, expected: &[i64]| {
        let start = Some(item! { pk: "a", sk: start });
        let items = client.query_items(&Query { start, direction, ..in_a(&table, None) });
        let expected: Vec<Value> = expected.iter().copied().map(v).collect();
        assert_eq!(values(&items, "sk"), expected);
    };
    check(-5, Direction::Forward, &[0, 10, 20, 30]);
    check(15, Direction::Forward, &[20, 30]);
    check(20, Direction::Forward, &[30]);
    check(35, Direction::Forward, &[]);
    check(15, Direction::Backward, &[10, 0]);
    check(-5, Direction::Backward, &[]);
    check(35, Direction::Backward, &[30, 20, 10, 0]);
}

fn a_start_key_of_another_partition_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = numbered(&client);
    client.fill(&table, [item! { pk: "b", sk: 0 }]);
    let start = Some(item! { pk: "b", sk: 0 });
    let why = "it belongs to another partition than the query";
    refused(client.query(Query { start, ..in_a(&table, None) }), Invalid::StartKey { why });
}

fn a_start_key_outside_the_range_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = numbered(&client);
    let outside = [
        (KeyTest::Less(v(20)), 20),
        (KeyTest::LessOrEqual(v(20)), 21),
        (KeyTest::Greater(v(10)), 10),
        (KeyTest::GreaterOrEqual(v(10)), 9),
        (KeyTest::Between(v(10), v(20)), 5),
        (KeyTest::Between(v(10), v(20)), 25),
        (KeyTest::Equal(v(10)), 20),
    ];
    for (test, start) in outside {
        for direction in [Direction::Forward, Direction::Backward] {
            let start = Some(item! { pk: "a", sk: start });
            let query = Query { start, direction, ..in_a(&table, Some(test.clone())) };
            let why = "it is outside the range of the query";
            refused(client.query(query), Invalid::StartKey { why });
        }
    }
    let start = Some(item! { pk: "a", sk: 15 });
    let query = Query { start, ..in_a(&table, Some(KeyTest::Between(v(10), v(20)))) };
    assert_eq!(values(&client.query_items(&query), "sk"), [v(20)]);
}

const LACKS: &str = "it lacks an attribute of the key";
const EXTRA: &str = "it has an attribute that is not part of the key";
const ODD: &str = "an attribute of the key has an invalid value";

fn a_start_key_of_another_shape_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = numbered(&client);
    let check = |start: Item, why| {
        let query = Query { start: Some(start), ..in_a(&table, None) };
        refused(client.query(query), Invalid::StartKey { why });
    };
    check(item! {}, LACKS);
    check(item! { pk: "a" }, LACKS);
    check(item! { sk: 1 }, LACKS);
    check(item! { pk: "a", sk: 1, title: "x" }, EXTRA);
    check(item! { pk: "a", sk: "1" }, ODD);
    check(item! { pk: 1, sk: 1 }, ODD);
    check(item! { pk: "", sk: 1 }, ODD);
}

/// A table with a global index by owner and rank, and a local one by rank.
fn indexed(client: &Client) -> TableName {
    let by_owner = KeySchema::partition("owner", KeyType::S).and_sort("rank", KeyType::N);
    let indexes = vec![global("by-owner", by_owner), local("by-rank", "rank", KeyType::N)];
    let table = client.make(TableSpec { indexes, ..text_table("indexed") });
    client.fill(&table, [item! { pk: "a", sk: "1", owner: "o", rank: 5 }]);
    table
}

fn by_owner(table: &TableName) -> Query {
    let index = Some(index_name("by-owner"));
    let key = KeyCondition::equal("owner", "o").and("rank", KeyTest::Less(v(9)));
    Query { index, ..Query::new(table, key) }
}

fn a_start_key_of_an_index_has_both_keys(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = indexed(&client);
    let check = |query: Query, start: Item, expected: Option<&'static str>| {
        let result = client.query(Query { start: Some(start), ..query });
        match expected {
            Some(why) => refused(result, Invalid::StartKey { why }),
            None => assert!(accepted(result).items.is_empty()),
        }
    };
    let global = || by_owner(&table);
    check(global(), item! { pk: "a", sk: "1", owner: "o", rank: 5 }, None);
    check(global(), item! { pk: "a", sk: "1" }, Some(LACKS));
    check(global(), item! { owner: "o", rank: 5 }, Some(LACKS));
    check(global(), item! { pk: "a", owner: "o", rank: 5 }, Some(LACKS));
    check(global(), item! { pk: "a", sk: "1", owner: "o", rank: 5, x: 1 }, Some(EXTRA));
    check(global(), item! { pk: "a", sk: "1", owner: "o", rank: "5" }, Some(ODD));
    let local = || Query { index: Some(index_name("by-rank")), ..in_a(&table, None) };
    check(local(), item! { pk: "a", sk: "1", rank: 5 }, None);
    check(local(), item! { pk: "a", sk: "1" }, Some(LACKS));
    check(local(), item! { pk: "a", sk: "1", rank: 5, owner: "o" }, Some(EXTRA));
    // A query of the table accepts only the table's key.
    check(in_a(&table, None), item! { pk: "a", sk: "1", rank: 5 }, Some(EXTRA));
}

fn a_start_key_of_an_index_must_be_in_its_range(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = indexed(&client);
    let check = |start: Item, why| {
        let query = Query { start: Some(start), ..by_owner(&table) };
        refused(client.query(query), Invalid::StartKey { why });
    };
    let partition = "it belongs to another partition than the query";
    check(item! { pk: "a", sk: "1", owner: "p", rank: 5 }, partition);
    let range = "it is outside the range of the query";
    check(item! { pk: "a", sk: "1", owner: "o", rank: 9 }, range);
}
