//! Updates read the old item, apply completely or not at all, and change only their paths.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_value::{
    Item, NumberError, Path, PathClash, SetValue, Update, UpdateError, UpdateOperator, Value,
    ValueType,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use crate::generators::{cases, item, number, path, set, value};

fn at(path: &str) -> Path {
    Path::from(path)
}

fn integers(integers: impl IntoIterator<Item = i32>) -> Value {
    Value::L(integers.into_iter().map(Value::from).collect())
}

fn texts(texts: &[&str]) -> Value {
    Value::Ss(texts.iter().map(|text| (*text).to_owned()).collect())
}

fn example() -> Item {
    Item::from([
        ("l", integers(0..6)),
        ("m", Value::M(Item::from([("x", Value::from(1)), ("deep", integers([7, 8]))]))),
        ("n", Value::from(10)),
        ("s", Value::from("text")),
        ("tags", texts(&["a", "b"])),
    ])
}

/// Checks the attributes of the example that the update changes.
fn check(update: Update, expected: &str) {
    let updated = update.apply(&example()).unwrap_or_else(|error| panic!("{update}: {error}"));
    let old = example();
    let changed: Item = (updated.into_iter())
        .filter(|(name, value)| old.get(name.as_str()) != Some(value))
        .collect();
    assert_eq!(changed.to_string(), expected, "{update}");
}

fn check_error(update: Update, expected: UpdateError) {
    assert_eq!(update.apply(&example()), Err(expected), "{update}");
}

#[test]
fn set_computes_from_the_old_item() {
    let one = || Value::from(1);
    check(Update::new().set(at("n"), at("s")).set(at("s"), at("n")), "{n: \"text\", s: 10}");
    check(Update::new().set(at("n"), SetValue::plus(at("n"), one())), "{n: 11}");
    check(Update::new().set(at("n"), SetValue::minus(one(), at("n"))), "{n: -9}");
    check(Update::new().set(at("new"), SetValue::if_missing("new", one())), "{new: 1}");
    check(Update::new().set(at("new"), SetValue::if_missing("n", one())), "{new: 10}");
    let counted = SetValue::plus(SetValue::if_missing("count", Value::from(0)), one());
    check(Update::new().set(at("count"), counted), "{count: 1}");
    let appended = SetValue::append(at("l"), integers([9]));
    check(Update::new().set(at("l"), appended), "{l: [0, 1, 2, 3, 4, 5, 9]}");
    let first = at("l").element(0);
    check(Update::new().set(at("n"), first.clone()).remove(first), "{l: [1, 2, 3, 4, 5], n: 0}");
}

#[test]
fn indexes_refer_to_the_old_list() {
    let element = |index| at("l").element(index);
    check(Update::new().remove(element(0)).remove(element(1)), "{l: [2, 3, 4, 5]}");
    check(
        Update::new().set(element(3), Value::from(17)).remove(element(1)),
        "{l: [0, 2, 17, 4, 5]}",
    );
    let far = Update::new()
        .set(element(84), Value::from(-3))
        .set(element(37), Value::from(-2))
        .set(element(6), Value::from(-1))
        .remove(element(5));
    check(far, "{l: [0, 1, 2, 3, 4, -1, -2, -3]}");
    check(Update::new().remove(element(17)), "{}");
    // Removing beyond the end does nothing, even if an element is appended there.
    let appended = Update::new().set(element(9), Value::from(7)).remove(element(6));
    check(appended, "{l: [0, 1, 2, 3, 4, 5, 7]}");
}

#[test]
fn nested_values_are_written_and_removed() {
    let deep = || at("m").member("deep");
    let update = Update::new()
        .set(at("m").member("new"), Value::from(2))
        .set(deep().element(1), Value::from(80))
        .remove(at("m").member("x"))
        .remove(deep().element(0));
    check(update, "{m: {deep: [80], new: 2}}");
    check(Update::new().remove(at("m").member("none")).remove(at("none")), "{}");
    check(Update::new().add(at("m").member("x"), Value::from(4)), "{m: {deep: [7, 8], x: 5}}");
    check(
        Update::new().add(at("m").member("y"), Value::from(4)),
        "{m: {deep: [7, 8], x: 1, y: 4}}",
    );
}

#[test]
fn sets_gain_and_lose_members_and_vanish_when_empty() {
    check(Update::new().add(at("tags"), texts(&["b", "c"])), "{tags: SS{\"a\", \"b\", \"c\"}}");
    check(Update::new().add(at("new"), texts(&["z"])), "{new: SS{\"z\"}}");
    check(Update::new().delete(at("tags"), texts(&["b", "z"])), "{tags: SS{\"a\"}}");
    check(Update::new().delete(at("none"), texts(&["b"])), "{}");
    let emptied = Update::new().delete(at("tags"), texts(&["a", "b"])).apply(&example());
    assert!(emptied.is_ok_and(|item| !item.contains("tags")));
}

#[test]
fn paths_into_missing_values_are_rejected() {
    let one = || Value::from(1);
    let refused = [
        at("none").member("x"),
        at("none").element(0),
        at("s").member("x"),
        at("s").element(0),
        at("l").member("x"),
        at("m").element(0),
        at("m").member("none").member("x"),
        at("l").element(6).element(0),
    ];
    for path in refused {
        let error = || UpdateError::MissingParent { path: path.clone() };
        check_error(Update::new().set(path.clone(), one()), error());
        check_error(Update::new().remove(path.clone()), error());
        check_error(Update::new().add(path.clone(), one()), error());
        check_error(Update::new().delete(path.clone(), texts(&["a"])), error());
    }
    // An element that the same update appends does not exist yet.
    let appended = at("l").element(6);
    let update =
        Update::new().set(appended.clone(), integers([])).set(at("l").element(7).element(0), one());
    check_error(update, UpdateError::MissingParent { path: at("l").element(7).element(0) });
}

#[test]
fn operands_of_the_wrong_type_are_refused_without_an_item_if_they_are_constants() {
    use UpdateOperator::{Add, Append, Delete, Minus, Plus};
    let (text, one) = (|| Value::from("x"), || Value::from(1));
    let sets: &[ValueType] = &[ValueType::Ss, ValueType::Ns, ValueType::Bs];
    let addable: &[ValueType] = &[ValueType::N, ValueType::Ss, ValueType::Ns, ValueType::Bs];
    let list_sum = SetValue::plus(SetValue::append(at("l"), at("l")), one());
    let inner = SetValue::append(SetValue::append(at("l"), one()), at("l"));
    let default = SetValue::if_missing("p", SetValue::minus(at("n"), text()));
    let cases = [
        (Update::new().add(at("p"), text()), Add, addable, ValueType::S),
        (Update::new().add(at("p"), integers([1])), Add, addable, ValueType::L),
        (Update::new().delete(at("p"), one()), Delete, sets, ValueType::N),
        (
            Update::new().set(at("p"), SetValue::plus(at("n"), text())),
            Plus,
            &[ValueType::N],
            ValueType::S,
        ),
        (
            Update::new().set(at("p"), SetValue::minus(text(), at("n"))),
            Minus,
            &[ValueType::N],
            ValueType::S,
        ),
        (
            Update::new().set(at("p"), SetValue::append(at("l"), one())),
            Append,
            &[ValueType::L],
            ValueType::N,
        ),
        (Update::new().set(at("p"), list_sum), Plus, &[ValueType::N], ValueType::L),
        (Update::new().set(at("p"), inner), Append, &[ValueType::L], ValueType::N),
        (Update::new().set(at("p"), default), Minus, &[ValueType::N], ValueType::S),
    ];
    for (update, operator, expected, found) in cases {
        let error = UpdateError::OperandType { operator, path: at("p"), expected, found };
        assert_eq!(update.check(), Err(error.clone()), "{update}");
        check_error(update, error);
    }
}

#[test]
fn stored_values_of_the_wrong_type_are_refused() {
    use UpdateOperator::{Add, Append, Delete, Plus};
    let check = |update: Update, operator, path, expected, found| {
        assert_eq!(update.check(), Ok(()), "{update}");
        check_error(update, UpdateError::StoredType { operator, path, expected, found });
    };
    let one = || Value::from(1);
    check(Update::new().add(at("s"), one()), Add, at("s"), &[ValueType::N], ValueType::S);
    check(Update::new().add(at("n"), texts(&["a"])), Add, at("n"), &[ValueType::Ss], ValueType::N);
    let numbers = Value::Ns(BTreeSet::from([1.into()]));
    check(
        Update::new().delete(at("tags"), numbers),
        Delete,
        at("tags"),
        &[ValueType::Ns],
        ValueType::Ss,
    );
    let sum = SetValue::plus(at("s"), one());
    check(Update::new().set(at("p"), sum), Plus, at("p"), &[ValueType::N], ValueType::S);
    let list = SetValue::append(at("n"), integers([]));
    check(Update::new().set(at("p"), list), Append, at("p"), &[ValueType::L], ValueType::N);
}

#[test]
fn missing_operands_and_numbers_out_of_range_are_refused() {
    check_error(
        Update::new().set(at("p"), SetValue::plus(at("none"), Value::from(1))),
        UpdateError::MissingOperand { path: at("none") },
    );
    let tiny = Value::N("1E-130".parse().expect("it is a number"));
    let error = NumberError::TooManyDigits;
    check_error(Update::new().add(at("n"), tiny), UpdateError::Number { path: at("n"), error });
}

#[test]
fn errors_name_the_problem_the_path_and_a_fix() {
    let cases = [
        (
            Update::new().add(at("a b"), Value::from("x")),
            "ADD at `a b` does not accept a constant of type S; use N, SS, NS or BS",
        ),
        (
            Update::new().add(at("s"), Value::from(1)),
            "ADD at s found a value of type S, and needs N; change the update, or set the value \
             first",
        ),
        (
            Update::new().set(at("p"), at("none")),
            "the item has no value at none to read; provide a default with if_not_exists",
        ),
        (
            Update::new().remove(at("none").member("x")),
            "the item has no map or list that contains none.x; set the map or list first",
        ),
        (
            Update::new().remove(at("l").element(0)).set(at("l").member("x"), Value::Null),
            "the paths l.x and l[0] treat the same value as a map and as a list; remove or \
             rewrite one of them",
        ),
    ];
    for (update, expected) in cases {
        let error = update.apply(&example()).expect_err("it is refused");
        assert_eq!(error.to_string(), expected);
    }
}

fn is_empty(set: &Value) -> bool {
    set.to_string().ends_with("{}")
}

/// A change to an element of a list, for a model that rebuilds the list.
#[derive(Clone, Debug)]
enum ElementChange {
    Set(i32),
    Remove,
}

fn element_change() -> impl Strategy<Value = ElementChange> {
    prop_oneof![(100..200).prop_map(ElementChange::Set), Just(ElementChange::Remove)]
}

fn rebuilt(len: usize, changes: &BTreeMap<usize, ElementChange>) -> Value {
    let kept = (0..len).filter_map(|index| match changes.get(&index) {
        None => Some(index as i32),
        Some(ElementChange::Set(value)) => Some(*value),
        Some(ElementChange::Remove) => None,
    });
    let appended = changes.range(len..).filter_map(|(_, change)| match change {
        ElementChange::Set(value) => Some(*value),
        ElementChange::Remove => None,
    });
    integers(kept.chain(appended))
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn every_index_of_an_update_refers_to_the_old_list(
        len in 0_usize..10,
        changes in btree_map(0_usize..14, element_change(), 0..8).prop_map(Vec::from_iter).prop_shuffle(),
    ) {
        let item = Item::from([("l", integers(0..len as i32))]);
        let update = changes.iter().fold(Update::new(), |update, (index, change)| match change {
            ElementChange::Set(value) => update.set(at("l").element(*index), Value::from(*value)),
            ElementChange::Remove => update.remove(at("l").element(*index)),
        });
        let expected = Item::from([("l", rebuilt(len, &changes.into_iter().collect()))]);
        prop_assert_eq!(update.apply(&item), Ok(expected));
    }

    #[test]
    fn two_attributes_swap(item in item(), left in value(), right in value()) {
        let before = [("a", left.clone()), ("b", right.clone())];
        let mut swapped = item.clone();
        let mut item = item;
        for (name, value) in before {
            item.insert(name, value);
        }
        swapped.insert("a", right);
        swapped.insert("b", left);
        let swap = Update::new().set(at("a"), at("b")).set(at("b"), at("a"));
        prop_assert_eq!(swap.apply(&item), Ok(swapped));
    }

    #[test]
    fn an_update_without_actions_changes_nothing(item in item()) {
        prop_assert_eq!(Update::new().apply(&item), Ok(item));
    }

    #[test]
    fn a_written_path_reads_back_and_other_attributes_stay(
        item in item(), path in path(), value in value(),
    ) {
        if let Ok(updated) = Update::new().set(path.clone(), value.clone()).apply(&item) {
            let beyond_the_end = path.get(&updated).is_none();
            prop_assert!(beyond_the_end || path.get(&updated) == Some(&value));
            for (name, old) in item.iter().filter(|(name, _)| *name != path.root()) {
                prop_assert_eq!(updated.get(name.as_str()), Some(old));
            }
        }
    }

    #[test]
    fn setting_a_path_to_its_own_value_changes_nothing(item in item(), path in path()) {
        if path.get(&item).is_some() {
            prop_assert_eq!(Update::new().set(path.clone(), path).apply(&item), Ok(item));
        }
    }

    #[test]
    fn removing_a_missing_path_changes_nothing_or_is_refused(item in item(), path in path()) {
        let missing = path.get(&item).is_none();
        match Update::new().remove(path).apply(&item) {
            Ok(updated) => prop_assert_eq!(updated == item, missing),
            Err(UpdateError::MissingParent { .. }) => prop_assert!(missing),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn adding_a_number_and_its_negation_restores_the_number(old in number(), step in number()) {
        let item = Item::from([("n", old)]);
        let back = keyloom_value::Number::ZERO.checked_sub(&step).expect("zero minus it is in range");
        if let Ok(added) = Update::new().add(at("n"), Value::N(step)).apply(&item) {
            prop_assert_eq!(Update::new().add(at("n"), Value::N(back)).apply(&added), Ok(item));
        }
    }

    #[test]
    fn adding_to_a_missing_number_starts_at_zero(step in number()) {
        let added = Update::new().add(at("n"), Value::N(step)).apply(&Item::new());
        prop_assert_eq!(added, Ok(Item::from([("n", step)])));
    }

    #[test]
    fn deleting_added_members_leaves_the_others(
        old in btree_set(0..6, 0..5), more in btree_set(0..6, 1..5),
    ) {
        let numbers = |set: &BTreeSet<i32>| Value::Ns(set.iter().map(|it| (*it).into()).collect());
        let mut item = Item::new();
        if !old.is_empty() {
            item.insert("set", numbers(&old));
        }
        let added = Update::new().add(at("set"), numbers(&more)).apply(&item);
        prop_assert_eq!(&added, &Ok(Item::from([("set", numbers(&(&old | &more)))])));
        let deleted = Update::new().delete(at("set"), numbers(&more)).apply(&added.unwrap_or_default());
        let left = &old - &more;
        let expected = if left.is_empty() { Item::new() } else { Item::from([("set", numbers(&left))]) };
        prop_assert_eq!(deleted, Ok(expected));
    }

    #[test]
    fn no_update_leaves_an_empty_set_behind(old in set(), taken in set()) {
        let item = Item::from([("set", old)]);
        if let Ok(updated) = Update::new().delete(at("set"), taken).apply(&item) {
            let empty = updated.get("set").is_some_and(is_empty);
            prop_assert!(!empty);
        }
    }

    #[test]
    fn clashing_paths_are_refused_whatever_the_clauses(item in item(), paths in vec(path(), 0..6)) {
        let update = paths.iter().enumerate().fold(Update::new(), |update, (index, path)| {
            let path = path.clone();
            match index % 4 {
                0 => update.set(path, Value::Null),
                1 => update.remove(path),
                2 => update.add(path, Value::from(1)),
                _ => update.delete(path, texts(&["a"])),
            }
        });
        prop_assert_eq!(update.paths().count(), paths.len());
        let clashes = keyloom_value::Projection::new(paths).is_err();
        prop_assert_eq!(update.check().is_err(), clashes);
        let refused = matches!(update.apply(&item), Err(UpdateError::Clash(_)));
        prop_assert_eq!(refused, clashes);
    }

    #[test]
    fn the_order_of_actions_does_not_matter(item in item(), paths in vec(path(), 0..5)) {
        let set = |update: Update, path: &Path| update.set(path.clone(), Value::from("new"));
        let forward = paths.iter().fold(Update::new(), set);
        let backward = paths.iter().rev().fold(Update::new(), set);
        prop_assert_eq!(forward.apply(&item).ok(), backward.apply(&item).ok());
    }
}

#[test]
fn a_clash_names_both_paths_in_the_order_of_the_clauses() {
    let update = Update::new().remove(at("m")).set(at("m").member("x"), Value::Null);
    let overlap = PathClash::Overlap { first: at("m").member("x"), second: at("m") };
    check_error(update, UpdateError::Clash(overlap));
}
