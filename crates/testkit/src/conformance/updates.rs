//! Updates: their results, and which are refused.

use keyloom_store::{Invalid, KeySchema, KeyType, Returns, TableSpec, UpdateItem};
use keyloom_value::{Item, Path, SetValue, Update, UpdateError, UpdateOperator, Value, ValueType};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{global, id_table, item, list, number, numbers, path, texts};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    set_writes_what_it_should,
    remove_add_and_delete_change_what_they_should,
    an_update_creates_a_missing_item,
    an_update_that_only_removes_creates_nothing,
    an_update_that_cannot_be_applied_changes_nothing,
    an_update_that_fits_no_item_is_refused,
    an_update_cannot_write_the_key,
    an_update_cannot_give_an_index_key_another_type,
];

/// Asserts the results of updates. The items are given without their key.
fn check(client: &Client, rows: Vec<(Item, Update, Item)>) {
    let table = client.make(id_table("checked"));
    for (mut before, update, mut after) in rows {
        for item in [&mut before, &mut after] {
            item.insert("id", "a");
        }
        client.fill(&table, [before]);
        let words = update.to_string();
        accepted(client.update(UpdateItem::new(&table, item! { id: "a" }, update)));
        assert_eq!(client.read(&table, item! { id: "a" }), Some(after), "{words}");
    }
    accepted(client.drop_table(&table));
}

fn set(at: impl Into<Path>, value: impl Into<SetValue>) -> Update {
    Update::new().set(at.into(), value)
}

fn set_writes_what_it_should(subject: &dyn Subject) {
    let v = |value: i64| Value::from(value);
    let map = |x: i64| item! { m: item! { x: x } };
    let lists = |elements: &[i64]| item! { l: list(elements.to_vec()) };
    let appended = SetValue::append(SetValue::if_missing(path("l"), list([0; 0])), list([9]));
    let counted = SetValue::plus(SetValue::if_missing(path("n"), v(10)), v(1));
    check(
        &Client::of(subject),
        vec![
            (item! { n: 1 }, set("n", v(2)), item! { n: 2 }),
            (item! {}, set("n", v(2)), item! { n: 2 }),
            // Every operand is read from the item before the update.
            (
                item! { a: 1, b: 2 },
                set("a", path("b")).set(path("b"), path("a")),
                item! { a: 2, b: 1 },
            ),
            (item! { a: 1 }, set("a", v(5)).set(path("b"), path("a")), item! { a: 5, b: 1 }),
            (item! { n: 5 }, set("n", SetValue::plus(path("n"), v(3))), item! { n: 8 }),
            (item! { n: 5 }, set("n", SetValue::minus(v(3), path("n"))), item! { n: -2 }),
            (
                item! { n: 1 },
                set("n", SetValue::plus(path("n"), number("0.1"))),
                item! { n: number("1.1") },
            ),
            (item! { n: 1 }, set("n", SetValue::if_missing(path("n"), v(7))), item! { n: 1 }),
            (item! {}, set("n", SetValue::if_missing(path("n"), v(7))), item! { n: 7 }),
            (item! {}, set("n", counted.clone()), item! { n: 11 }),
            (item! { n: 1 }, set("n", counted), item! { n: 2 }),
            (lists(&[1]), set("l", SetValue::append(path("l"), list([2, 3]))), lists(&[1, 2, 3])),
            (lists(&[1]), set("l", SetValue::append(list([0]), path("l"))), lists(&[0, 1])),
            (item! {}, set("l", appended.clone()), lists(&[9])),
            (lists(&[1]), set("l", appended), lists(&[1, 9])),
            (lists(&[1, 2]), set(path("l").element(0), v(7)), lists(&[7, 2])),
            // An element beyond the end is appended.
            (lists(&[1, 2]), set(path("l").element(9), v(3)), lists(&[1, 2, 3])),
            (map(1), set(path("m").member("x"), v(2)), map(2)),
            (map(1), set(path("m").member("y"), v(2)), item! { m: item! { x: 1, y: 2 } }),
            (map(1), set("m", Value::from("text")), item! { m: "text" }),
        ],
    );
}

fn remove_add_and_delete_change_what_they_should(subject: &dyn Subject) {
    let remove = |at: Path| Update::new().remove(at);
    let add = |value: Value| Update::new().add(path("x"), value);
    let delete = |value: Value| Update::new().delete(path("x"), value);
    let l = || path("l");
    check(
        &Client::of(subject),
        vec![
            (item! { x: 1, y: 2 }, remove(path("x")), item! { y: 2 }),
            (item! { y: 2 }, remove(path("x")), item! { y: 2 }),
            (item! { l: list([1, 2, 3]) }, remove(l().element(0)), item! { l: list([2, 3]) }),
            // Both positions refer to the list before the update.
            (
                item! { l: list([1, 2, 3, 4]) },
                remove(l().element(1)).remove(l().element(2)),
                item! { l: list([1, 4]) },
            ),
            (item! { m: item! { x: 1 } }, remove(path("m").member("x")), item! { m: item! {} }),
            (item! { x: 1 }, add(number("1.5")), item! { x: number("2.5") }),
            (item! { x: 1 }, add(Value::from(-1)), item! { x: 0 }),
            (item! {}, add(Value::from(5)), item! { x: 5 }),
            (item! {}, add(texts(&["a"])), item! { x: texts(&["a"]) }),
            (item! { x: texts(&["a"]) }, add(texts(&["b", "a"])), item! { x: texts(&["a", "b"]) }),
            (item! { x: numbers(&["1"]) }, add(numbers(&["1.0"])), item! { x: numbers(&["1"]) }),
            (
                item! { x: texts(&["a", "b"]) },
                delete(texts(&["a", "z"])),
                item! { x: texts(&["b"]) },
            ),
            // There are no empty sets: the attribute is removed with the last member.
            (item! { x: texts(&["a"]) }, delete(texts(&["a"])), item! {}),
            (item! {}, delete(texts(&["a"])), item! {}),
            (item! { x: 1 }, Update::new(), item! { x: 1 }),
        ],
    );
}

fn an_update_creates_a_missing_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let check = |id: &str, update: Update, expected: Item| {
        accepted(client.update(UpdateItem::new(&table, item! { id: id }, update)));
        assert_eq!(client.read(&table, item! { id: id }), Some(expected));
    };
    check("a", set("n", Value::from(1)), item! { id: "a", n: 1 });
    check("b", Update::new(), item! { id: "b" });
    check("d", Update::new().add(path("n"), Value::from(1)), item! { id: "d", n: 1 });
}

/// Whatever the path, even one into nothing.
fn an_update_that_only_removes_creates_nothing(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let updates = [
        Update::new().remove(path("n")),
        Update::new().remove(path("n").member("x")).remove(path("l").element(0)),
        Update::new().delete(path("ss"), texts(&["x"])),
    ];
    for update in updates {
        let update = UpdateItem::new(&table, item! { id: "a" }, update);
        let image = accepted(client.update(update.returning(Returns::AllNew)));
        assert_eq!(image, None);
        assert_eq!(client.read(&table, item! { id: "a" }), None);
    }
}

fn an_update_that_cannot_be_applied_changes_nothing(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let before = item! { id: "a", s: "text", n: 1, ss: texts(&["x"]) };
    client.fill(&table, [before.clone()]);
    let check = |update: Update, expected: UpdateError| {
        let result = client.update(UpdateItem::new(&table, item! { id: "a" }, update));
        refused(result, Invalid::Update(expected));
        assert_eq!(client.read(&table, item! { id: "a" }).as_ref(), Some(&before));
    };
    check(
        Update::new().add(path("s"), Value::from(1)),
        UpdateError::StoredType {
            operator: UpdateOperator::Add,
            path: path("s"),
            expected: &[ValueType::N],
            found: ValueType::S,
        },
    );
    check(set("n", path("missing")), UpdateError::MissingOperand { path: path("missing") });
    let nowhere = path("missing").member("x");
    check(set(nowhere.clone(), Value::from(1)), UpdateError::MissingParent { path: nowhere });
    assert_eq!(client.feed(&table, 10).len(), 1);
}

fn an_update_that_fits_no_item_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let update = |update: Update| client.update(UpdateItem::new(&table, item! { id: "a" }, update));
    let overlapping = [
        set("x", Value::from(1)).remove(path("x")),
        set("x", Value::from(1)).set(path("x"), Value::from(1)),
        set("m", Value::from(1)).set(path("m").member("x"), Value::from(1)),
        Update::new().remove(path("l").element(1)).add(path("l"), Value::from(1)),
        set(path("m").member("x"), Value::from(1)).remove(path("m").element(0)),
    ];
    for overlap in overlapping {
        let error = overlap.check().unwrap_err();
        refused(update(overlap), Invalid::Update(error));
    }
    refused(update(set("x", texts(&[]))), Invalid::EmptySet { attribute: "x".into() });
    let nested = set("x", list([Value::from(item! { y: texts(&[]) })]));
    refused(update(nested), Invalid::EmptySet { attribute: "x".into() });
    let adding_text = Update::new().add(path("x"), Value::from("text"));
    let error = adding_text.check().unwrap_err();
    refused(update(adding_text), Invalid::Update(error));
    assert_eq!(client.read(&table, item! { id: "a" }), None);
}

fn an_update_cannot_write_the_key(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let updates = [
        set("id", Value::from("a")),
        Update::new().remove(path("id")),
        Update::new().add(path("id"), Value::from(1)),
        set(path("id").member("x"), Value::from(1)),
    ];
    for update in updates {
        let update = UpdateItem::new(&table, item! { id: "a" }, update);
        refused(client.update(update), Invalid::UpdatesKey { attribute: "id".into() });
    }
}

fn an_update_cannot_give_an_index_key_another_type(subject: &dyn Subject) {
    let client = Client::of(subject);
    let by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    let table = client.make(TableSpec { indexes: vec![by_owner], ..id_table("things") });
    client.fill(&table, [item! { id: "a", owner: "o" }]);
    let update = |value: Value| {
        client.update(UpdateItem::new(&table, item! { id: "a" }, set("owner", value)))
    };
    let attribute = || "owner".into();
    let (expected, found) = (ValueType::S, ValueType::N);
    refused(update(Value::from(1)), Invalid::KeyType { attribute: attribute(), expected, found });
    refused(update(Value::from("")), Invalid::KeyEmpty { attribute: attribute() });
    assert_eq!(client.read(&table, item! { id: "a" }), Some(item! { id: "a", owner: "o" }));
}
