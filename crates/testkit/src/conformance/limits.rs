//! The limits of items and keys: the largest valid ones, and the smallest invalid ones.

use keyloom_store::{
    Check, Delete, Error, Invalid, KeySchema, KeyType, OnFailure, Put, Query, Scan, TableSpec,
    TransactAction, TransactWrite, UpdateItem,
};
use keyloom_value::{Condition, Item, KeyCondition, KeyTest, Update, Value};

use super::case::{Case, claims};
use crate::client::refused;
use crate::sample::{bytes, global, id_table, item, list, path, table_of, text_of, text_table};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    an_item_has_at_most_400_kb,
    an_update_cannot_grow_an_item_beyond_the_limit,
    a_key_attribute_has_a_maximum_length,
    an_index_key_attribute_has_a_maximum_length,
    values_nest_31_lists_deep,
    a_condition_has_at_most_300_operators,
    an_item_can_have_many_attributes,
];

fn an_item_has_at_most_400_kb(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let limit = 400 * 1024;
    // `id` + `a` + `body`.
    let names = 2 + 1 + 4;
    let fits = item! { id: "a", body: text_of(limit - names) };
    client.fill(&table, [fits.clone()]);
    assert_eq!(client.read(&table, item! { id: "a" }), Some(fits));
    let over = item! { id: "a", body: text_of(limit - names + 1) };
    refused(client.put(Put::new(&table, over)), Invalid::ItemTooLarge { bytes: limit + 1, limit });
}

fn an_update_cannot_grow_an_item_beyond_the_limit(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let limit = 400 * 1024;
    let before = item! { id: "a", body: text_of(limit - 7) };
    client.fill(&table, [before.clone()]);
    let grow = Update::new().set(path("n"), Value::from(true));
    let update = UpdateItem::new(&table, item! { id: "a" }, grow);
    refused(client.update(update), Invalid::ItemTooLarge { bytes: limit + 2, limit });
    assert_eq!(client.read(&table, item! { id: "a" }), Some(before));
}

fn a_key_attribute_has_a_maximum_length(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("texts"));
    // Two bytes per character: lengths are in bytes.
    let long = item! { pk: "é".repeat(1024), sk: "é".repeat(512) };
    client.fill(&table, [long.clone()]);
    assert_eq!(client.read(&table, long.clone()), Some(long));
    let too_long = |attribute: &str, bytes, limit| Invalid::KeyTooLong {
        attribute: attribute.into(),
        bytes,
        limit,
    };
    let check = |key: Item, expected: Invalid| {
        refused(client.put(Put::new(&table, key)), expected);
    };
    check(item! { pk: text_of(2049), sk: "a" }, too_long("pk", 2049, 2048));
    check(item! { pk: "a", sk: text_of(1025) }, too_long("sk", 1025, 1024));

    let blobs = client.make(table_of("blobs", KeyType::B, KeyType::B));
    let long = item! { pk: bytes(&[0; 2048]), sk: bytes(&[0xFF; 1024]) };
    client.fill(&blobs, [long.clone()]);
    assert_eq!(client.read(&blobs, long.clone()), Some(long));
    let condition = KeyCondition::equal("pk", bytes(&[0; 2048]));
    let test = KeyTest::GreaterOrEqual(bytes(&[0xFF; 1025]));
    let query = Query::new(&blobs, condition.and("sk", test));
    refused(client.query(query), too_long("sk", 1025, 1024));
}

fn an_index_key_attribute_has_a_maximum_length(subject: &dyn Subject) {
    let client = Client::of(subject);
    let key = KeySchema::partition("owner", KeyType::S).and_sort("rank", KeyType::S);
    let spec = TableSpec { indexes: vec![global("by-owner", key)], ..id_table("things") };
    let table = client.make(spec);
    client.fill(&table, [item! { id: "a", owner: text_of(2048), rank: text_of(1024) }]);
    // Even while the item is not in the index because another attribute is missing.
    let over = item! { id: "b", rank: text_of(1025) };
    let expected = Invalid::KeyTooLong { attribute: "rank".into(), bytes: 1025, limit: 1024 };
    refused(client.put(Put::new(&table, over)), expected);
}

fn values_nest_31_lists_deep(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let nested = |levels: usize| (0..levels).fold(Value::from("core"), |value, _| list([value]));
    let deep = item! { id: "a", deep: nested(31) };
    client.fill(&table, [deep.clone()]);
    assert_eq!(client.read(&table, item! { id: "a" }), Some(deep));
    let put = Put::new(&table, item! { id: "a", deep: nested(32) });
    refused(client.put(put), Invalid::TooDeep { limit: 31 });
    let update = Update::new().set(path("deep").element(0), nested(31));
    let update = UpdateItem::new(&table, item! { id: "a" }, update);
    refused(client.update(update), Invalid::TooDeep { limit: 31 });
    // Far deeper than a recursive check could handle.
    let abyss = Put::new(&table, item! { id: "a", deep: nested(1_000) });
    refused(client.put(abyss), Invalid::TooDeep { limit: 31 });
}

fn a_condition_has_at_most_300_operators(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let test = || Condition::missing(path("n"));
    // Each test is an operator, and so is each AND between two.
    let tests = |count: usize| (1..count).fold(test(), |all, _| all.and(test()));
    let put = |condition| client.put(Put::new(&table, item! { id: "a" }).when(condition));
    refused(put(tests(150).not()), Error::ConditionFailed { item: None });
    let too_large = || Invalid::ConditionTooLarge { operators: 301, limit: 300 };
    let nested = (0..301).fold(test(), |inner, _| Condition::And(vec![inner]));
    for large in [tests(151), nested] {
        refused(put(large.clone()), too_large());
        let key = || item! { id: "a" };
        let delete = Delete::new(&table, key()).when(large.clone());
        refused(client.delete(delete), too_large());
        let update = UpdateItem::new(&table, key(), Update::new()).when(large.clone());
        refused(client.update(update), too_large());
        let (condition, on_failure) = (large.clone(), OnFailure::Nothing);
        let check = Check { table: table.clone(), key: key(), condition, on_failure };
        let actions = vec![TransactAction::Check(check)];
        refused(client.transact_write(TransactWrite::new(actions)), too_large());
        let filter = || Some(large.clone());
        let query = Query::new(&table, KeyCondition::equal("id", "a"));
        refused(client.query(Query { filter: filter(), ..query }), too_large());
        refused(client.scan(Scan { filter: filter(), ..Scan::new(&table) }), too_large());
    }
}

fn an_item_can_have_many_attributes(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let attributes = (0..20_000_u64).map(|at| (format!("attribute {at}").into(), at.into()));
    let item: Item = attributes.chain(item! { id: "a" }).collect();
    client.fill(&table, [item.clone()]);
    assert_eq!(client.read(&table, item! { id: "a" }), Some(item));
}
