//! Random conditions, updates and projections.

use std::cmp::Ordering;

use keyloom_store::{KeyAttribute, KeySchema};
use keyloom_value::{
    Comparison, Condition, KeyCondition, KeyTest, Operand, Path, Projection, SetValue, Update,
    Value, ValueType,
};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample::select;
use proptest::strategy::BoxedStrategy;

use super::world::{ATTRIBUTES, some_value_of, value_of};
use crate::sample::path;

/// An attribute, rarely one of a key.
fn attribute() -> impl Strategy<Value = &'static str> {
    prop_oneof![40 => select(ATTRIBUTES.to_vec()), 1 => select(vec!["pk", "num", "id"])]
}

/// A path to an attribute or into one.
fn any_path() -> impl Strategy<Value = Path> {
    prop_oneof![
        6 => attribute().prop_map(path),
        1 => (0..3_usize).prop_map(|element| path("list").element(element)),
        1 => Just(path("map").member("x")),
    ]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    select(vec![Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])
}

/// An attribute with two of its values.
fn pair() -> impl Strategy<Value = (&'static str, Value, Value)> {
    attribute().prop_flat_map(|name| (Just(name), some_value_of(name), value_of(name)))
}

pub(super) fn condition() -> BoxedStrategy<Condition> {
    let compared = (pair(), comparison()).prop_map(|((name, value, _), comparison)| {
        Condition::compare(path(name), comparison, value)
    });
    let between = pair().prop_map(|(name, low, high)| Condition::Between {
        operand: path(name).into(),
        low: low.into(),
        high: high.into(),
    });
    let one_of = pair().prop_map(|(name, left, right)| Condition::In {
        operand: path(name).into(),
        choices: vec![left.into(), right.into()],
    });
    let sized = (any_path(), comparison(), 0..4_i32).prop_map(|(path, sign, size)| {
        Condition::compare(Operand::Size(path), sign, Value::from(size))
    });
    let typed = select(vec![ValueType::S, ValueType::N, ValueType::Ss, ValueType::Null]);
    let begins = Condition::BeginsWith(path("s").into(), Value::from("hel").into());
    let contains = Condition::Contains(path("set").into(), Value::from("x").into());
    let test = prop_oneof![
        3 => any_path().prop_map(Condition::Exists),
        2 => any_path().prop_map(Condition::Missing),
        4 => compared,
        1 => between,
        1 => one_of,
        1 => sized,
        1 => (any_path(), typed).prop_map(|(path, kind)| Condition::HasType(path, kind)),
        1 => Just(begins),
        1 => Just(contains),
    ];
    test.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.and(right)),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.or(right)),
            inner.prop_map(Condition::not),
        ]
    })
    .boxed()
}

pub(super) fn update() -> impl Strategy<Value = Update> {
    let set = pair().prop_map(|(name, value, _)| Update::new().set(path(name), value));
    let copied = (any_path(), any_path()).prop_map(|(to, from)| Update::new().set(to, from));
    let defaulted = pair().prop_map(|(name, value, _)| {
        Update::new().set(path(name), SetValue::if_missing(path(name), value))
    });
    let counted = (-3..3_i32).prop_map(|by| {
        let count = SetValue::if_missing(path("n"), Value::from(0));
        Update::new().set(path("n"), SetValue::plus(count, Value::from(by)))
    });
    let appended = value_of("list")
        .prop_map(|list| Update::new().set(path("list"), SetValue::append(path("list"), list)));
    let inside = (any_path(), value_of("n")).prop_map(|(at, value)| Update::new().set(at, value));
    let added = select(vec!["n", "rank", "set", "s"]).prop_flat_map(|name| {
        let value = prop_oneof![value_of("n"), value_of("set")];
        (Just(name), value).prop_map(|(name, value)| Update::new().add(path(name), value))
    });
    let deleted = value_of("set").prop_map(|members| Update::new().delete(path("set"), members));
    let clause = prop_oneof![
        6 => set,
        1 => copied,
        1 => defaulted,
        2 => counted,
        1 => appended,
        1 => inside,
        2 => any_path().prop_map(|at| Update::new().remove(at)),
        2 => added,
        1 => deleted,
    ];
    vec(clause, 0..4).prop_map(|clauses| clauses.into_iter().fold(Update::new(), joined))
}

fn joined(mut left: Update, right: Update) -> Update {
    left.set.extend(right.set);
    left.remove.extend(right.remove);
    left.add.extend(right.add);
    left.delete.extend(right.delete);
    left
}

pub(super) fn projection() -> impl Strategy<Value = Projection> {
    let names = prop_oneof![select(ATTRIBUTES.to_vec()), select(vec!["pk", "sk", "num", "id"])];
    prop_oneof![
        4 => vec(names, 1..4).prop_map(Projection::names),
        1 => any_path().prop_map(|path| Projection::new(vec![path]).unwrap()),
    ]
}

/// A condition on the key, mostly one that selects a range.
pub(super) fn key_condition(schema: &KeySchema) -> impl Strategy<Value = KeyCondition> + use<> {
    let equal = |part: &KeyAttribute| {
        let name = part.name.clone();
        some_value_of(name.as_str()).prop_map(move |value| (name.clone(), KeyTest::Equal(value)))
    };
    let partition: Vec<_> = schema.partition.iter().map(equal).collect();
    let sort: Vec<_> = schema.sort.iter().map(equal).collect();
    let last: Vec<_> = schema
        .sort
        .iter()
        .map(|part| {
            let name = part.name.clone();
            key_test(name.as_str()).prop_map(move |test| (name.clone(), test))
        })
        .collect();
    let depth = prop_oneof![1 => Just(0), 1 => 0..=schema.sort.len()];
    (partition, sort, last, depth, weighted(0.02, 0..8_usize)).prop_map(
        |(partition, sort, last, depth, dropped)| {
            let mut tests = partition;
            if let Some(before) = depth.checked_sub(1) {
                tests.extend(sort.into_iter().take(before));
                tests.push(last[before].clone());
            }
            if let Some(dropped) = dropped.filter(|dropped| *dropped < tests.len()) {
                tests.remove(dropped);
            }
            KeyCondition { tests }
        },
    )
}

fn key_test(attribute: &str) -> BoxedStrategy<KeyTest> {
    let one = || value_of(attribute);
    // Mostly in ascending order.
    let ends = (one(), one(), proptest::bool::weighted(0.9)).prop_map(|(left, right, sort)| {
        let turned = sort && left.compare(&right) == Some(Ordering::Greater);
        if turned { (right, left) } else { (left, right) }
    });
    let prefixes = if attribute == "rank" || attribute == "num" { 0 } else { 2 };
    prop_oneof![
        3 => one().prop_map(KeyTest::Equal),
        1 => one().prop_map(KeyTest::Less),
        1 => one().prop_map(KeyTest::LessOrEqual),
        1 => one().prop_map(KeyTest::Greater),
        1 => one().prop_map(KeyTest::GreaterOrEqual),
        2 => ends.prop_map(|(low, high)| KeyTest::Between(low, high)),
        prefixes => one().prop_map(KeyTest::BeginsWith),
    ]
    .boxed()
}
