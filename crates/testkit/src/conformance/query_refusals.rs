//! Queries that no contiguous read can answer.

use keyloom_store::{Error, Invalid, KeyType, Query, TableName};
use keyloom_value::{Condition, KeyCondition, KeyTest, Value, ValueType};

use super::case::{Case, claims};
use crate::client::refused;
use crate::sample::{bytes, id_table, index_name, path, table_of, text_table};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_key_condition_must_be_one_range,
    a_key_condition_must_fit_the_key_types,
    a_limit_of_zero_is_refused,
    a_filter_on_the_key_is_refused,
    a_query_of_a_missing_index_says_so,
];

fn check(client: &Client, table: &TableName, condition: KeyCondition, expected: Invalid) {
    let words = condition.to_string();
    let result = client.query(Query::new(table, condition));
    assert!(result.is_err(), "{words} should be refused");
    refused(result, expected);
}

fn v(text: &str) -> Value {
    Value::from(text)
}

fn a_key_condition_must_be_one_range(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let why = |attribute: &str, why| Invalid::KeyCondition { attribute: attribute.into(), why };
    let pk = || KeyCondition::equal("pk", "a");
    let only = |name: &str, test: KeyTest| KeyCondition { tests: vec![(name.into(), test)] };
    let every = "a query must test every partition attribute";
    check(&client, &table, KeyCondition { tests: vec![] }, why("pk", every));
    check(&client, &table, KeyCondition::equal("sk", "1"), why("pk", every));
    let by_equality = "a partition attribute must be tested by equality";
    let tests = [
        KeyTest::Less(v("a")),
        KeyTest::LessOrEqual(v("a")),
        KeyTest::Greater(v("a")),
        KeyTest::GreaterOrEqual(v("a")),
        KeyTest::Between(v("a"), v("b")),
        KeyTest::BeginsWith(v("a")),
    ];
    for test in tests {
        check(&client, &table, only("pk", test), why("pk", by_equality));
    }
    let foreign = pk().and("title", KeyTest::Equal(v("x")));
    check(&client, &table, foreign, why("title", "it is not part of the key"));
    let twice = pk().and("sk", KeyTest::Greater(v("1"))).and("sk", KeyTest::Less(v("9")));
    check(&client, &table, twice, why("sk", "it is tested twice"));
    let twice = pk().and("pk", KeyTest::Equal(v("a")));
    check(&client, &table, twice, why("pk", "it is tested twice"));
    let upside_down = pk().and("sk", KeyTest::Between(v("2"), v("1")));
    let above = "the lower bound is above the upper bound";
    check(&client, &table, upside_down, why("sk", above));

    let hash_only = client.make(id_table("others"));
    let sort = KeyCondition::equal("id", "a").and("sk", KeyTest::Equal(v("1")));
    check(&client, &hash_only, sort, why("sk", "it is not part of the key"));
}

fn a_key_condition_must_fit_the_key_types(subject: &dyn Subject) {
    let client = Client::of(subject);
    let texts = client.make(text_table("texts"));
    let numbers = client.make(table_of("numbers", KeyType::S, KeyType::N));
    let kind = |attribute: &str, expected, found| Invalid::KeyType {
        attribute: attribute.into(),
        expected,
        found,
    };
    let (s, n, b) = (ValueType::S, ValueType::N, ValueType::B);
    check(&client, &texts, KeyCondition::equal("pk", 1), kind("pk", s, n));
    let pk = || KeyCondition::equal("pk", "a");
    let as_bytes = pk().and("sk", KeyTest::Less(bytes(b"1")));
    check(&client, &texts, as_bytes, kind("sk", s, b));
    let mixed = pk().and("sk", KeyTest::Between(v("1"), Value::from(2)));
    check(&client, &texts, mixed, kind("sk", s, n));
    let prefix = pk().and("sk", KeyTest::BeginsWith(Value::from(1)));
    let why = "a number has no prefix";
    let attribute = || "sk".into();
    check(&client, &numbers, prefix, Invalid::KeyCondition { attribute: attribute(), why });
    let prefix = pk().and("sk", KeyTest::BeginsWith(v("1")));
    check(&client, &numbers, prefix, kind("sk", n, s));
    // Keys are never empty, so values they are compared with cannot be either.
    let empty = Invalid::KeyEmpty { attribute: "pk".into() };
    check(&client, &texts, KeyCondition::equal("pk", ""), empty);
    for test in [KeyTest::BeginsWith(v("")), KeyTest::Greater(v("")), KeyTest::Equal(v(""))] {
        let empty = Invalid::KeyEmpty { attribute: attribute() };
        check(&client, &texts, pk().and("sk", test), empty);
    }
}

fn a_limit_of_zero_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let query = Query::new(&table, KeyCondition::equal("pk", "a"));
    refused(client.query(Query { limit: Some(0), ..query }), Invalid::LimitZero);
}

fn a_filter_on_the_key_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let fine = || Condition::exists(path("title"));
    let on = |attribute: &str| Condition::equal(path(attribute), v("x"));
    let filters = [
        (on("pk"), "pk"),
        (on("sk"), "sk"),
        (fine().and(on("sk").not()), "sk"),
        (fine().or(Condition::exists(path("pk").member("x"))), "pk"),
        (Condition::equal(path("title"), path("sk")), "sk"),
    ];
    for (filter, attribute) in filters {
        let query = Query::new(&table, KeyCondition::equal("pk", "a"));
        let result = client.query(Query { filter: Some(filter), ..query });
        refused(result, Invalid::FilterOnKey { attribute: attribute.into() });
    }
}

fn a_query_of_a_missing_index_says_so(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let index = index_name("missing");
    let query = Query::new(&table, KeyCondition::equal("pk", "a"));
    let query = Query { index: Some(index.clone()), ..query };
    refused(client.query(query), Error::IndexNotFound { table, index });
}
