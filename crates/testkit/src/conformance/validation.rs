//! Invalid keys and items, and the order in which rules are checked.

use keyloom_store::{
    Check, Delete, Error, Get, Invalid, OnFailure, Put, Scan, TableName, TransactAction,
    TransactWrite, UpdateItem,
};
use keyloom_value::{Condition, Item, Update, Value, ValueType};

use super::case::{Case, claims};
use crate::client::refused;
use crate::sample::{
    byte_strings, bytes, item, list, name, numbers, path, text_of, text_table, texts,
};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_key_has_exactly_the_key_attributes,
    an_item_has_a_complete_key,
    an_item_has_no_empty_set_at_any_depth,
    an_attribute_has_a_name,
    an_invalid_request_is_refused_before_its_condition_is_evaluated,
    what_an_item_is_made_of_is_checked_before_its_key,
    a_name_of_a_table_has_3_to_255_plain_characters,
];

fn missing(attribute: &str) -> Invalid {
    Invalid::KeyMissing { attribute: attribute.into() }
}

fn kind(attribute: &str, found: ValueType) -> Invalid {
    Invalid::KeyType { attribute: attribute.into(), expected: ValueType::S, found }
}

/// Invalid keys, each with the reason.
fn wrong_keys() -> Vec<(Item, Invalid)> {
    let empty = |attribute: &str| Invalid::KeyEmpty { attribute: attribute.into() };
    vec![
        (item! {}, missing("pk")),
        (item! { pk: "a" }, missing("sk")),
        (item! { sk: "a" }, missing("pk")),
        (item! { pk: "a", sk: "1", n: 1 }, Invalid::KeyExtra { attribute: "n".into() }),
        (item! { pk: 1, sk: "1" }, kind("pk", ValueType::N)),
        (item! { pk: "a", sk: bytes(b"1") }, kind("sk", ValueType::B)),
        (item! { pk: "a", sk: Value::Null }, kind("sk", ValueType::Null)),
        (item! { pk: "", sk: "1" }, empty("pk")),
        (item! { pk: "a", sk: "" }, empty("sk")),
    ]
}

fn a_key_has_exactly_the_key_attributes(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    for (key, expected) in wrong_keys() {
        let key = || key.clone();
        refused(client.get(Get::new(&table, key())), expected.clone());
        refused(client.delete(Delete::new(&table, key())), expected.clone());
        let update = UpdateItem::new(&table, key(), Update::new());
        refused(client.update(update), expected.clone());
        let check = Check {
            table: table.clone(),
            key: key(),
            condition: Condition::missing(path("pk")),
            on_failure: OnFailure::Nothing,
        };
        let actions = vec![TransactAction::Check(check)];
        refused(client.transact_write(TransactWrite::new(actions)), expected);
    }
}

fn put(client: &Client, table: &TableName, item: Item) -> Result<Option<Item>, Error> {
    client.put(Put::new(table, item))
}

fn an_item_has_a_complete_key(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let is_extra = |invalid: &Invalid| matches!(invalid, Invalid::KeyExtra { .. });
    for (key, expected) in wrong_keys().into_iter().filter(|(_, why)| !is_extra(why)) {
        refused(put(&client, &table, key), expected);
    }
    assert!(client.scan_items(&Scan::new(&table)).is_empty());
}

fn an_item_has_no_empty_set_at_any_depth(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let inside = item! { map: list([Value::from(item! { set: numbers(&[]) })]) };
    let values =
        [texts(&[]), numbers(&[]), byte_strings(&[]), list([texts(&[])]), Value::from(inside)];
    for value in values {
        let item = item! { pk: "a", sk: "1", x: value };
        refused(put(&client, &table, item), Invalid::EmptySet { attribute: "x".into() });
    }
}

fn an_attribute_has_a_name(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let nameless = || Item::from([("", Value::from(1))]);
    let mut top = item! { pk: "a", sk: "1" };
    top.insert("", 1);
    let nested = item! { pk: "a", sk: "1", x: nameless() };
    for item in [top, nested] {
        refused(put(&client, &table, item), Invalid::AttributeName { name: String::new() });
    }
}

fn an_invalid_request_is_refused_before_its_condition_is_evaluated(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let never = || Condition::exists(path("nothing"));
    let put = Put::new(&table, item! { pk: "a" }).when(never());
    refused(client.put(put), missing("sk"));
    let delete = Delete::new(&table, item! { pk: "a" }).when(never());
    refused(client.delete(delete), missing("sk"));
    let key = || item! { pk: "a", sk: "1" };
    let update = Update::new().set(path("sk"), Value::from("2"));
    let update = UpdateItem::new(&table, key(), update).when(never());
    refused(client.update(update), Invalid::UpdatesKey { attribute: "sk".into() });
    let update = Update::new().set(path("x"), texts(&[]));
    let update = UpdateItem::new(&table, key(), update).when(never());
    refused(client.update(update), Invalid::EmptySet { attribute: "x".into() });
}

fn what_an_item_is_made_of_is_checked_before_its_key(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let empty = Invalid::EmptySet { attribute: "x".into() };
    refused(put(&client, &table, item! { x: texts(&[]) }), empty);
    let large = item! { body: text_of(400 * 1024) };
    let (bytes, limit) = (large.size(), 400 * 1024);
    refused(put(&client, &table, large), Invalid::ItemTooLarge { bytes, limit });
}

fn a_name_of_a_table_has_3_to_255_plain_characters(subject: &dyn Subject) {
    use keyloom_store::TableName;
    let client = Client::of(subject);
    let long = "x".repeat(255);
    for good in ["abc", "A.b-c_9", "...", long.as_str()] {
        client.make(crate::sample::id_table(good));
        assert_eq!(name(good).as_str(), good);
    }
    for bad in ["", "ab", &"x".repeat(256), "with space", "slash/", "snow☃", "nul\0"] {
        assert_eq!(TableName::new(bad), Err(Invalid::Name { name: bad.to_owned() }));
    }
}
