//! Random expressions that the service accepts: constants of matching types, no path compared with
//! itself, no junction of fewer than two.

use keyloom_value::{
    Comparison, Condition, Item, KeyCondition, KeyTest, Name, Number, Operand, Path, Projection,
    SetValue, Update, Value, ValueType,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

/// Names that could be mistaken for syntax.
pub(crate) fn name() -> impl Strategy<Value = String> {
    let odd = ["a", "b", "c", "a.b", "a[1]", "#a", ":a", "size", "SET", "and", "", " ", "é", "\""];
    prop_oneof![select(odd.map(str::to_owned).to_vec()), "[a-z]{1,4}", "\\PC{1,5}"]
}

pub(crate) fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![name().prop_map(Ok), (0_usize..99).prop_map(Err)];
    (name(), vec(step, 0..4)).prop_map(|(root, steps)| {
        steps.into_iter().fold(Path::new(Name::from(root)), |path, step| match step {
            Ok(name) => path.member(name),
            Err(index) => path.element(index),
        })
    })
}

pub(crate) fn number() -> impl Strategy<Value = Number> {
    let parts = (any::<i64>(), -120_i16..100);
    prop_oneof![
        any::<i16>().prop_map(|n| Number::from(i64::from(n))),
        parts.prop_filter_map("out of range", |(c, e)| Number::from_parts(i128::from(c), e).ok())
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        "\\PC{0,6}".prop_map(Value::S),
        number().prop_map(Value::N),
        vec(any::<u8>(), 0..6).prop_map(Value::B),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => scalar(),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
        1 => btree_set("\\PC{0,4}", 1..4).prop_map(Value::Ss),
        1 => btree_set(number(), 1..4).prop_map(Value::Ns),
        1 => btree_set(vec(any::<u8>(), 0..4), 1..4).prop_map(Value::Bs),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::L),
            vec((name(), inner), 0..4).prop_map(|members| {
                Value::M(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
            }),
        ]
    })
}

pub(crate) fn item() -> impl Strategy<Value = Item> {
    vec((name(), value()), 0..6)
        .prop_map(|members| members.into_iter().map(|(name, v)| (name.into(), v)).collect())
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        3 => path().prop_map(Operand::Path),
        2 => scalar().prop_map(Operand::Value),
        1 => path().prop_map(Operand::Size),
    ]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ])
}

fn value_type() -> impl Strategy<Value = ValueType> {
    select(vec![ValueType::S, ValueType::N, ValueType::Bool, ValueType::Null, ValueType::Bs])
}

/// Two constants of the same type, in order.
fn bounds() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        (number(), number()).prop_map(|(a, b)| (Value::N(a.min(b)), Value::N(a.max(b)))),
        ("\\PC{0,4}", "\\PC{0,4}")
            .prop_map(|(a, b)| (Value::S(a.clone().min(b.clone())), Value::S(a.max(b)))),
    ]
}

fn test() -> impl Strategy<Value = Condition> {
    let prefix = prop_oneof![
        path().prop_map(Operand::Path),
        "\\PC{0,4}".prop_map(|text| Operand::Value(Value::S(text)))
    ];
    let distinct = |left: &Operand, right: &Operand| left != right;
    prop_oneof![
        (operand(), comparison(), operand())
            .prop_filter("a path compared with itself", move |(l, _, r)| distinct(l, r))
            .prop_map(|(l, c, r)| Condition::compare(l, c, r)),
        (operand(), bounds()).prop_map(|(operand, (low, high))| Condition::Between {
            operand,
            low: low.into(),
            high: high.into()
        }),
        (operand(), vec(operand(), 1..5))
            .prop_map(|(operand, choices)| Condition::In { operand, choices }),
        path().prop_map(Condition::Exists),
        path().prop_map(Condition::Missing),
        (path(), value_type()).prop_map(|(path, kind)| Condition::HasType(path, kind)),
        (path(), prefix)
            .prop_map(|(path, prefix)| (Operand::Path(path), prefix))
            .prop_filter("a path compared with itself", move |(l, r)| distinct(l, r))
            .prop_map(|(l, r)| Condition::BeginsWith(l, r)),
        (path(), value()).prop_map(|(p, v)| Condition::Contains(Operand::Path(p), v.into())),
    ]
}

pub(crate) fn condition() -> impl Strategy<Value = Condition> {
    test().prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Condition::And),
            vec(inner.clone(), 2..4).prop_map(Condition::Or),
            inner.prop_map(Condition::not),
        ]
    })
}

pub(crate) fn key_condition() -> impl Strategy<Value = KeyCondition> {
    let test = prop_oneof![
        scalar().prop_map(KeyTest::Equal),
        scalar().prop_map(KeyTest::Less),
        scalar().prop_map(KeyTest::LessOrEqual),
        scalar().prop_map(KeyTest::Greater),
        scalar().prop_map(KeyTest::GreaterOrEqual),
        bounds().prop_map(|(low, high)| KeyTest::Between(low, high)),
        "\\PC{0,4}".prop_map(|text| KeyTest::BeginsWith(Value::S(text))),
    ];
    vec((name(), test), 1..5).prop_map(|tests| {
        let mut key = KeyCondition { tests: vec![] };
        for (name, test) in tests {
            if key.tests.iter().all(|(known, _)| known.as_str() != name) {
                key.tests.push((name.into(), test));
            }
        }
        key
    })
}

/// Only defaults nest: a sum or an appended list is a whole value.
fn set_value() -> impl Strategy<Value = SetValue> {
    let leaf = prop_oneof![
        path().prop_map(SetValue::Path),
        number().prop_map(|number| SetValue::Value(Value::N(number))),
        vec(value(), 0..3).prop_map(|list| SetValue::Value(Value::L(list))),
    ];
    let operand = leaf.prop_recursive(3, 8, 2, |inner| {
        (path(), inner).prop_map(|(path, value)| SetValue::if_missing(path, value))
    });
    let pair = || (operand.clone(), operand.clone());
    prop_oneof![
        operand.clone(),
        pair().prop_map(|(l, r)| SetValue::append(l, r)),
        pair().prop_map(|(l, r)| SetValue::plus(l, r)),
        pair().prop_map(|(l, r)| SetValue::minus(l, r)),
    ]
}

/// Updates that are valid for some item and change something.
pub(crate) fn update() -> impl Strategy<Value = Update> {
    let added =
        prop_oneof![number().prop_map(Value::N), btree_set(number(), 1..3).prop_map(Value::Ns)];
    let taken = btree_set("[ab]", 1..3).prop_map(Value::Ss);
    let parts = (
        vec((path(), set_value()), 0..3),
        vec(path(), 0..3),
        vec((path(), added), 0..2),
        vec((path(), taken), 0..2),
    );
    parts.prop_filter_map("invalid for every item", |(set, remove, add, delete)| {
        let update = Update { set, remove, add, delete };
        let is_fine = update.check().is_ok() && update.paths().next().is_some();
        is_fine.then_some(update)
    })
}

pub(crate) fn projection() -> impl Strategy<Value = Projection> {
    vec(path(), 1..5).prop_filter_map("the paths clash", |paths| Projection::new(paths).ok())
}
