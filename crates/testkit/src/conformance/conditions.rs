//! Conditions: when they are true, and what a failed one leaves unchanged.

use keyloom_store::{Delete, Error, OnFailure, Put, UpdateItem};
use keyloom_value::{Comparison, Condition, Item, Operand, Update, Value, ValueType};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{byte_strings, bytes, id_table, item, list, number, numbers, path, texts};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    comparisons_hold_where_they_should,
    other_tests_hold_where_they_should,
    conditions_see_no_item_where_there_is_none,
    a_put_if_missing_happens_once,
    a_failed_condition_changes_nothing,
    a_failed_condition_returns_the_item_if_requested,
    a_condition_that_is_false_for_a_missing_item_fails_its_delete,
];

/// Asserts for each condition whether it is true for the item, by a conditional write.
fn check(client: &Client, item: Option<Item>, conditions: Vec<(bool, Condition)>) {
    let table = client.make(id_table("checked"));
    client.fill(&table, item.clone());
    for (expected, condition) in conditions {
        let update = UpdateItem::new(&table, item! { id: "a" }, Update::new());
        let result = client.update(update.when(condition.clone()));
        if expected {
            assert!(result.is_ok(), "{condition} should be true");
        } else {
            assert!(result.is_err(), "{condition} should be false");
            refused(result, Error::ConditionFailed { item: None });
        }
        if item.is_none() {
            client.remove(&table, item! { id: "a" });
        }
    }
    accepted(client.drop_table(&table));
}

fn is(left: &str, comparison: Comparison, right: impl Into<Value>) -> Condition {
    Condition::compare(path(left), comparison, right.into())
}

fn contains(left: &str, right: impl Into<Value>) -> Condition {
    Condition::Contains(path(left).into(), right.into().into())
}

fn begins(left: &str, right: impl Into<Value>) -> Condition {
    Condition::BeginsWith(path(left).into(), right.into().into())
}

/// An item with a value of each type.
fn sample() -> Item {
    let map = item! { x: 1, inner: list([10, 20]) };
    item! {
        id: "a", n: 5, other: 5, s: "hello", b: bytes(b"\x00\x01"), yes: true, none: Value::Null,
        list: list([1, 2, 3]), map: map, ss: texts(&["x", "y"]), ns: numbers(&["1", "2"]),
        bs: byte_strings(&[b"k"]),
    }
}

fn comparisons_hold_where_they_should(subject: &dyn Subject) {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let compared = vec![
        (true, is("n", Equal, number("5.0"))),
        (false, is("n", Equal, "5")),
        (true, is("n", NotEqual, "5")),
        (true, is("n", NotEqual, 6)),
        (true, is("n", Less, number("5.1"))),
        (false, is("n", Less, 5)),
        (true, is("n", LessOrEqual, 5)),
        (true, is("n", Greater, -7)),
        (true, is("n", GreaterOrEqual, 5)),
        (false, is("n", Less, "9")),
        (true, is("s", Greater, "hell")),
        (true, is("s", Less, "hellp")),
        (true, is("b", Greater, bytes(b"\x00"))),
        (true, is("ss", Equal, texts(&["y", "x"]))),
        (true, is("ns", Equal, numbers(&["2.0", "1"]))),
        (false, is("list", Equal, list([3, 2, 1]))),
        (true, Condition::equal(path("n"), path("other"))),
        (true, Condition::equal(path("map").member("inner").element(1), Value::from(20))),
        (false, is("missing", Equal, 1)),
        (false, is("missing", Less, 1)),
        (true, is("missing", NotEqual, 1)),
        (true, Condition::equal(Operand::size("s"), Value::from(5))),
        (true, Condition::equal(Operand::size("list"), Value::from(3))),
        (true, Condition::equal(Operand::size("ss"), Value::from(2))),
        (true, Condition::equal(Operand::size("b"), Value::from(2))),
        (false, Condition::equal(Operand::size("n"), Value::from(1))),
    ];
    check(&Client::of(subject), Some(sample()), compared);
}

fn other_tests_hold_where_they_should(subject: &dyn Subject) {
    let between = |low: i64, high: i64| Condition::Between {
        operand: path("n").into(),
        low: Value::from(low).into(),
        high: Value::from(high).into(),
    };
    let one_of = |choices: &[i64]| Condition::In {
        operand: path("n").into(),
        choices: choices.iter().map(|choice| Value::from(*choice).into()).collect(),
    };
    let (yes, no) = (Condition::exists(path("n")), Condition::missing(path("n")));
    let others = vec![
        (true, between(5, 5)),
        (false, between(6, 9)),
        (false, between(9, 1)),
        (true, one_of(&[1, 5])),
        (false, one_of(&[1, 4])),
        (true, Condition::exists(path("none"))),
        (false, Condition::exists(path("map").member("y"))),
        (true, Condition::missing(path("list").element(3))),
        (true, Condition::HasType(path("none"), ValueType::Null)),
        (false, Condition::HasType(path("n"), ValueType::S)),
        (true, begins("s", "hel")),
        (false, begins("s", "ello")),
        (true, begins("b", bytes(b"\x00"))),
        (true, contains("s", "ell")),
        (true, contains("ss", "x")),
        (true, contains("ns", number("2.00"))),
        (true, contains("bs", bytes(b"k"))),
        (true, contains("list", 3)),
        (false, contains("list", "3")),
        (true, yes.clone().and(no.clone().not())),
        (false, yes.clone().and(no.clone())),
        (true, no.clone().or(yes.clone())),
        (false, no.clone().or(yes.clone().not())),
        (true, no.and(yes.clone()).or(yes)),
    ];
    check(&Client::of(subject), Some(sample()), others);
}

fn conditions_see_no_item_where_there_is_none(subject: &dyn Subject) {
    let conditions = vec![
        (true, Condition::missing(path("id"))),
        (false, Condition::exists(path("id"))),
        (false, is("id", Comparison::Equal, "a")),
        (true, is("id", Comparison::NotEqual, "a")),
        (true, Condition::exists(path("id")).not()),
    ];
    check(&Client::of(subject), None, conditions);
}

fn a_put_if_missing_happens_once(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let put =
        |n: i64| Put::new(&table, item! { id: "a", n: n }).when(Condition::missing(path("id")));
    accepted(client.put(put(1)));
    refused(client.put(put(2)), Error::ConditionFailed { item: None });
    assert_eq!(client.read(&table, item! { id: "a" }), Some(item! { id: "a", n: 1 }));
    client.remove(&table, item! { id: "a" });
    accepted(client.put(put(3)));
}

fn a_failed_condition_changes_nothing(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let before = item! { id: "a", n: 1 };
    client.fill(&table, [before.clone()]);
    let never = || Condition::exists(path("nothing"));
    let failed = || Error::ConditionFailed { item: None };
    let key = || item! { id: "a" };
    refused(client.put(Put::new(&table, key()).when(never())), failed());
    refused(client.delete(Delete::new(&table, key()).when(never())), failed());
    let update = Update::new().set(path("n"), Value::from(2));
    refused(client.update(UpdateItem::new(&table, key(), update).when(never())), failed());
    assert_eq!(client.read(&table, key()), Some(before));
    assert_eq!(client.feed(&table, 10).len(), 1);
}

fn a_failed_condition_returns_the_item_if_requested(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, [item! { id: "a", n: 1 }]);
    let never = || Some(Condition::exists(path("nothing")));
    for (id, expected) in [("a", Some(item! { id: "a", n: 1 })), ("b", None)] {
        let failed = || Error::ConditionFailed { item: expected.clone().map(Box::new) };
        let (condition, on_failure) = (never(), OnFailure::ReturnItem);
        let put = Put { condition, on_failure, ..Put::new(&table, item! { id: id }) };
        refused(client.put(put), failed());
        let condition = never();
        let delete = Delete { condition, on_failure, ..Delete::new(&table, item! { id: id }) };
        refused(client.delete(delete), failed());
        let condition = never();
        let update = UpdateItem::new(&table, item! { id: id }, Update::new());
        refused(client.update(UpdateItem { condition, on_failure, ..update }), failed());
    }
}

fn a_condition_that_is_false_for_a_missing_item_fails_its_delete(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let delete = Delete::new(&table, item! { id: "a" }).when(Condition::exists(path("id")));
    refused(client.delete(delete), Error::ConditionFailed { item: None });
    let delete = Delete::new(&table, item! { id: "a" }).when(Condition::missing(path("id")));
    assert_eq!(accepted(client.delete(delete)), None);
}
