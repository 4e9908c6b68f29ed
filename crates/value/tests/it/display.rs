//! Text forms are readable and distinct for distinct values.

use std::collections::HashMap;
use std::fmt::Display;

use keyloom_value::{
    Comparison, Condition, Item, KeyCondition, KeyTest, Number, Operand, Path, SetValue, Update,
    Value, ValueType,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::generators::{condition, item, key_value, name, path, value};

/// Fails if two different values print the same.
fn check_injective<T: Display + PartialEq>(things: Vec<T>) -> Result<(), TestCaseError> {
    let mut printed: HashMap<String, T> = HashMap::new();
    for thing in things {
        let text = thing.to_string();
        let same = printed.get(&text).is_none_or(|other| *other == thing);
        prop_assert!(same, "two different things print as {}", text);
        printed.insert(text, thing);
    }
    Ok(())
}

/// Values from a domain so small that equal and nearly equal ones occur.
fn tiny_value() -> impl Strategy<Value = Value> {
    let scalars = vec![
        Value::from(""),
        Value::from("a"),
        Value::from("true"),
        Value::from("1"),
        Value::from(", "),
        Value::from("a\", \"a"),
        Value::from("\\"),
        Value::from("\n"),
        Value::from("\\n"),
        Value::from("0x"),
        Value::from(1),
        Value::from(0),
        Value::B(vec![]),
        Value::from(vec![1_u8]),
        Value::from(true),
        Value::Null,
        Value::Ss(["a".to_owned()].into()),
        Value::Ss(["a".to_owned(), "b".to_owned()].into()),
        Value::Ns([Number::from(1)].into()),
        Value::Bs([vec![1]].into()),
    ];
    proptest::sample::select(scalars).prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::L),
            vec((name(), inner), 0..3).prop_map(|members| Value::M(Item::from_iter(members))),
        ]
    })
}

fn set_value() -> impl Strategy<Value = SetValue> {
    let leaf =
        prop_oneof![tiny_value().prop_map(SetValue::Value), path().prop_map(SetValue::Path),];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            (path(), inner).prop_map(|(path, value)| SetValue::if_missing(path, value)),
            pair.clone().prop_map(|(left, right)| SetValue::append(left, right)),
            pair.clone().prop_map(|(left, right)| SetValue::plus(left, right)),
            pair.prop_map(|(left, right)| SetValue::minus(left, right)),
        ]
    })
}

fn update() -> impl Strategy<Value = Update> {
    let set = vec((path(), set_value()), 0..2);
    let remove = vec(path(), 0..2);
    let operands = || vec((path(), tiny_value()), 0..2);
    (set, remove, operands(), operands()).prop_map(|(set, remove, add, delete)| Update {
        set,
        remove,
        add,
        delete,
    })
}

fn key_condition() -> impl Strategy<Value = KeyCondition> {
    let test = (0..7, key_value(), key_value()).prop_map(|(kind, value, high)| match kind {
        0 => KeyTest::Equal(value),
        1 => KeyTest::Less(value),
        2 => KeyTest::LessOrEqual(value),
        3 => KeyTest::Greater(value),
        4 => KeyTest::GreaterOrEqual(value),
        5 => KeyTest::Between(value, high),
        _ => KeyTest::BeginsWith(value),
    });
    vec((name(), test), 0..3).prop_map(|tests| KeyCondition { tests })
}

proptest! {
    #[test]
    fn different_values_print_differently(
        values in vec(prop_oneof![value(), tiny_value()], 100),
        items in vec(item(), 50),
    ) {
        check_injective(values)?;
        check_injective(items)?;
    }

    #[test]
    fn different_paths_print_differently(paths in vec(path(), 100)) {
        check_injective(paths)?;
    }

    #[test]
    fn different_conditions_print_differently(conditions in vec(condition(), 60)) {
        check_injective(conditions)?;
    }

    #[test]
    fn different_operands_print_differently(paths in vec(path(), 50), values in vec(tiny_value(), 50)) {
        let sizes = paths.clone().into_iter().map(Operand::Size);
        let operands = sizes.chain(paths.into_iter().map(Operand::Path));
        check_injective(operands.chain(values.into_iter().map(Operand::Value)).collect())?;
    }

    #[test]
    fn different_updates_print_differently(
        updates in vec(update(), 60), values in vec(set_value(), 60),
    ) {
        check_injective(updates)?;
        check_injective(values)?;
    }

    #[test]
    fn different_key_conditions_print_differently(conditions in vec(key_condition(), 60)) {
        check_injective(conditions)?;
    }
}

fn check(thing: impl Display, expected: &str) {
    assert_eq!(thing.to_string(), expected);
}

#[test]
fn items_and_paths_read_like_json_and_expressions() {
    let item = Item::from([
        ("id", Value::from("t\"1\"\n\u{1}")),
        ("done", Value::from(false)),
        ("due", Value::from(-5)),
        ("raw", Value::from(vec![0_u8, 255])),
        ("2nd", Value::L(vec![Value::Null, Value::M(Item::new())])),
        ("tags", Value::Ss(["b".to_owned(), "a".to_owned()].into())),
        ("true", Value::Ns([Number::from(2), Number::from(1)].into())),
        ("`", Value::Bs([vec![]].into())),
    ]);
    check(
        item,
        "{`2nd`: [null, {}], `\\``: BS{0x}, done: false, due: -5, id: \"t\\\"1\\\"\\n\\u{1}\", \
         raw: 0x00ff, tags: SS{\"a\", \"b\"}, `true`: NS{1, 2}}",
    );
    check(Path::from("a").member("b").element(3), "a.b[3]");
    check(Path::from("a.b[3]"), "`a.b[3]`");
}

#[test]
fn conditions_read_like_expressions() {
    let equal = |name: &str, value: i32| Condition::equal(Path::from(name), Value::from(value));
    check(
        equal("a", 1).and(equal("b", 2)).or(equal("c", 3).not()),
        "(a = 1 AND b = 2) OR NOT (c = 3)",
    );
    check(Condition::And(vec![]), "AND()");
    check(Condition::Or(vec![equal("a", 1)]), "OR(a = 1)");
    let operand = || Operand::from(Path::from("a"));
    let (low, high) = (Operand::from(Value::from(1)), Operand::size("b"));
    check(
        Condition::Between { operand: operand(), low: low.clone(), high: high.clone() },
        "a BETWEEN 1 AND size(b)",
    );
    check(
        Condition::In { operand: operand(), choices: vec![low.clone(), high] },
        "a IN (1, size(b))",
    );
    check(Condition::exists("a"), "attribute_exists(a)");
    check(Condition::missing("a"), "attribute_not_exists(a)");
    check(Condition::HasType(Path::from("a"), ValueType::Bool), "attribute_type(a, BOOL)");
    check(Condition::BeginsWith(operand(), low.clone()), "begins_with(a, 1)");
    check(Condition::Contains(operand(), low.clone()), "contains(a, 1)");
    check(Condition::compare(operand(), Comparison::NotEqual, low), "a <> 1");
    let key = KeyCondition::equal("id", "x").and("at", KeyTest::Between(1.into(), 2.into()));
    check(key, "id = \"x\" AND at BETWEEN 1 AND 2");
}

#[test]
fn updates_read_like_expressions() {
    let at = Path::from;
    let sum = SetValue::plus(SetValue::minus(at("n"), Value::from(1)), Value::from(-2));
    let list = SetValue::append(SetValue::if_missing("l", Value::L(vec![])), at("m"));
    let update = Update::new()
        .set(at("n"), sum)
        .set(at("l"), list)
        .remove(at("x").element(0))
        .add(at("count"), Value::from(1))
        .delete(at("tags"), Value::Ss(["a".to_owned()].into()));
    check(
        update,
        "SET n = (n - 1) + -2, l = list_append(if_not_exists(l, []), m) REMOVE x[0] ADD count 1 \
         DELETE tags SS{\"a\"}",
    );
    check(Update::new(), "");
}
