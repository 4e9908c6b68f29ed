//! Putting, getting and deleting single items: values and keys of every kind.

use keyloom_store::{Delete, Get, KeyType, Put, Scan};
use keyloom_value::{Item, Path, Projection, Value};

use super::case::{Case, claims};
use crate::client::accepted;
use crate::sample::{
    byte_strings, bytes, id_table, item, list, number, numbers, path, sorted, table_of, text_table,
    texts,
};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    an_item_is_there_from_put_to_delete,
    a_put_replaces_the_whole_item,
    deleting_a_missing_item_succeeds,
    every_kind_of_value_comes_back_as_it_was,
    a_projection_returns_parts,
    equal_numbers_are_one_key,
    different_keys_are_different_items,
    numbers_of_any_size_can_be_keys,
    an_empty_value_is_fine_outside_the_key,
];

fn an_item_is_there_from_put_to_delete(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let key = || item! { pk: "a", sk: "1" };
    assert_eq!(client.read(&table, key()), None);
    client.fill(&table, [item! { pk: "a", sk: "1", title: "one" }]);
    assert_eq!(client.read(&table, key()), Some(item! { pk: "a", sk: "1", title: "one" }));
    assert_eq!(client.read(&table, item! { pk: "a", sk: "2" }), None);
    assert_eq!(client.read(&table, item! { pk: "1", sk: "a" }), None);
    assert_eq!(accepted(client.delete(Delete::new(&table, key()))), None);
    assert_eq!(client.read(&table, key()), None);
}

fn a_put_replaces_the_whole_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, [item! { id: "a", old: 1, both: 1 }, item! { id: "a", new: 2, both: 2 }]);
    let read = client.read(&table, item! { id: "a" });
    assert_eq!(read, Some(item! { id: "a", new: 2, both: 2 }));
    assert_eq!(client.scan_items(&Scan::new(&table)).len(), 1);
}

fn deleting_a_missing_item_succeeds(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    assert_eq!(accepted(client.delete(Delete::new(&table, item! { id: "a" }))), None);
}

fn every_kind_of_value_comes_back_as_it_was(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let inner = item! { text: "t", none: Value::Null, deep: list([list([1, 2]), list([0; 0])]) };
    let all = item! {
        id: "all",
        text: "snow ☃, quote \", zero \0, newline \n",
        number: number("-123456789012345678901234567890.12345678"),
        tiny: number("1E-130"),
        huge: number("9.9999999999999999999999999999999999999E+125"),
        bytes: bytes(&[0, 1, 0xFF, 0xFE, 0]),
        yes: true,
        no: false,
        null: Value::Null,
        list: list([Value::from(1), Value::from("two"), Value::from(inner.clone())]),
        map: inner,
        empty_list: list([0; 0]),
        empty_map: Item::new(),
        texts: texts(&["b", "a", ""]),
        numbers: numbers(&["1", "-1", "0.5"]),
        bytestrings: byte_strings(&[b"", b"\0", b"\xFF"]),
    };
    let mut odd_names = item! { id: "odd" };
    for odd in ["with space", "#", ":x", "a.b", "a[0]", "\0", "☃", &"long".repeat(500)] {
        odd_names.insert(odd, odd);
    }
    for item in [all, odd_names] {
        let key = Item::from([("id", item.get("id").unwrap().clone())]);
        client.fill(&table, [item.clone()]);
        assert_eq!(client.read(&table, key), Some(item));
    }
}

fn a_projection_returns_parts(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let map = item! { x: 1, y: list([10, 20, 30]) };
    client.fill(&table, [item! { id: "a", title: "one", map: map, rank: 7 }]);
    let check = |paths: Vec<Path>, expected: Item| {
        let projection = Some(Projection::new(paths).unwrap());
        let get = Get { projection, ..Get::new(&table, item! { id: "a" }) };
        assert_eq!(accepted(client.get(get)), Some(expected));
    };
    check(vec![path("title"), path("rank")], item! { title: "one", rank: 7 });
    check(vec![path("id")], item! { id: "a" });
    check(vec![path("nothing")], item! {});
    check(vec![path("map").member("x")], item! { map: item! { x: 1 } });
    check(vec![path("map").member("y").element(1)], item! { map: item! { y: list([20]) } });
    let projection = Some(Projection::names(["title"]));
    let missing = Get { projection, ..Get::new(&table, item! { id: "b" }) };
    assert_eq!(accepted(client.get(missing)), None);
}

fn equal_numbers_are_one_key(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(table_of("things", KeyType::N, KeyType::N));
    let spellings = [["1", "1.0", "10E-1", "0.1E+1"], ["-250", "-2.5E2", "-250.00", "-0.25E3"]];
    for [first, others @ ..] in spellings {
        client.fill(&table, [item! { pk: number(first), sk: number(first), spelled: first }]);
        for other in others {
            let key = || item! { pk: number(other), sk: number(other) };
            assert!(client.read(&table, key()).is_some(), "{other}");
            client.fill(&table, [item! { pk: number(other), sk: number(other), spelled: other }]);
            let read = client.read(&table, item! { pk: number(first), sk: number(first) });
            assert_eq!(read.unwrap().get("spelled"), Some(&Value::from(other)));
        }
    }
    assert_eq!(client.scan_items(&Scan::new(&table)).len(), spellings.len());
    client.fill(&table, [item! { pk: number("0"), sk: number("-0") }]);
    assert!(client.read(&table, item! { pk: number("-0.0"), sk: number("0E5") }).is_some());
}

fn different_keys_are_different_items(subject: &dyn Subject) {
    let client = Client::of(subject);
    let texts = ["a", "a\0", "a\0\0", "a\u{1}", "a\0\u{1}", "\0", "ab", "A", "é", "e\u{301}"];
    let texts = client_pairs(texts.map(Value::from).into());
    let strings: [&[u8]; 8] =
        [b"a", b"a\0", b"a\0\0", b"\0", b"\0\xFF", b"\xFF", b"\xFF\xFF", b"\0\x01"];
    let strings = client_pairs(strings.map(bytes).into());
    for (table, key_type, items) in [("texts", KeyType::S, texts), ("bytes", KeyType::B, strings)] {
        let table = client.make(table_of(table, key_type, key_type));
        client.fill(&table, items.clone());
        for item in &items {
            let key = Item::from(["pk", "sk"].map(|name| (name, item.get(name).unwrap().clone())));
            assert_eq!(client.read(&table, key).as_ref(), Some(item));
        }
        assert_eq!(sorted(client.scan_items(&Scan::new(&table))), sorted(items));
    }
}

/// An item for each pair of values, which are its key.
fn client_pairs(values: Vec<Value>) -> Vec<Item> {
    let pairs = values.iter().flat_map(|pk| values.iter().map(move |sk| (pk, sk)));
    let item = |(at, (pk, sk)): (usize, (&Value, &Value))| {
        item! { pk: pk.clone(), sk: sk.clone(), at: at as u64 }
    };
    pairs.enumerate().map(item).collect()
}

fn numbers_of_any_size_can_be_keys(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(table_of("things", KeyType::N, KeyType::N));
    let sizes = [
        "0",
        "1E-130",
        "-1E-130",
        "9.9999999999999999999999999999999999999E+125",
        "-9.9999999999999999999999999999999999999E+125",
        "99999999999999999999999999999999999999",
        "99999999999999999999999999999999999998",
        "0.00000000000000000000000000000000000001",
    ];
    for size in sizes {
        client.fill(&table, [item! { pk: number(size), sk: number(size) }]);
    }
    assert_eq!(client.scan_items(&Scan::new(&table)).len(), sizes.len());
    for size in sizes {
        assert!(client.read(&table, item! { pk: number(size), sk: number(size) }).is_some());
    }
}

fn an_empty_value_is_fine_outside_the_key(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let item = item! { id: "a", text: "", bytes: bytes(b""), map: Item::new(), list: list([0; 0]) };
    accepted(client.put(Put::new(&table, item.clone())));
    assert_eq!(client.read(&table, item! { id: "a" }), Some(item));
}
