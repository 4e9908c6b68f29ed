//! Random values from small, hostile domains: few names and many near misses, so that values
//! collide, contain each other and differ in one byte.

use keyloom_value::{Comparison, Condition, Item, Name, Number, Operand, Path, Value, ValueType};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

/// The default number of cases, or `PROPTEST_CASES`, times the factor.
pub(crate) fn cases(factor: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases * factor, ..config }
}

/// Numbers of every length and exponent, often close to each other or to a limit.
pub(crate) fn number() -> impl Strategy<Value = Number> {
    let exponent = prop_oneof![-3_i16..=3, -45_i16..=45, -170_i16..=130, Just(-130), Just(125)];
    let number = (any::<bool>(), coefficient(), exponent);
    prop_oneof![
        1 => Just(Number::ZERO),
        1 => any::<i8>().prop_map(|integer| Number::from(i64::from(integer))),
        8 => number.prop_filter_map("out of range", |(negative, coefficient, exponent)| {
            let signed = if negative { -coefficient } else { coefficient };
            Number::from_parts(signed, exponent).ok()
        }),
    ]
}

/// Up to 38 digits, mostly ones that carry, borrow or are trimmed.
fn coefficient() -> impl Strategy<Value = i128> {
    let digit = prop_oneof![3 => select(vec![0_u8, 0, 1, 9, 9]), 1 => 0_u8..=9];
    vec(digit, 1..=38)
        .prop_map(|digits| digits.into_iter().fold(0, |sum, digit| sum * 10 + i128::from(digit)))
}

/// Texts in which zero bytes, escapes, quotes and long characters are common.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let character = select(vec![
        '\0',
        '\u{1}',
        '\u{7f}',
        'a',
        'a',
        'b',
        '"',
        '`',
        '\\',
        '\n',
        '.',
        ' ',
        'é',
        '\u{ffff}',
        '𝄞',
        '\u{10ffff}',
    ]);
    vec(character, 0..6).prop_map(String::from_iter)
}

/// Bytes in which the special bytes of keys are common.
pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => select(vec![0x00_u8, 0x01, 0x02, 0x80, 0xFE, 0xFF]),
        1 => any::<u8>(),
    ];
    // Longer ones span several of the words in which zero bytes are searched.
    prop_oneof![3 => vec(byte.clone(), 0..6), 1 => vec(byte, 0..30)]
}

/// Values that can be part of a key.
pub(crate) fn key_value() -> impl Strategy<Value = Value> {
    prop_oneof![text().prop_map(Value::S), number().prop_map(Value::N), bytes().prop_map(Value::B),]
}

pub(crate) fn set() -> impl Strategy<Value = Value> {
    prop_oneof![
        btree_set(text(), 1..4).prop_map(Value::Ss),
        btree_set(small_number(), 1..4).prop_map(Value::Ns),
        btree_set(bytes(), 1..4).prop_map(Value::Bs),
    ]
}

fn small_number() -> impl Strategy<Value = Number> {
    (-3_i32..4).prop_map(Number::from)
}

/// Values of every type, nested up to three deep.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        key_value(),
        small_number().prop_map(Value::N),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        set(),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::L),
            vec((name(), inner), 0..4).prop_map(|members| Value::M(Item::from_iter(members))),
        ]
    })
}

/// A few names, words and others, so that items and paths share them.
pub(crate) fn name() -> impl Strategy<Value = Name> {
    let names = vec!["a", "b", "c", "a.b", "a[0]", "true", "1", "", "é", "a`b"];
    prop_oneof![3 => select(vec!["a", "b", "c"]), 1 => select(names)].prop_map(Name::from)
}

pub(crate) fn item() -> impl Strategy<Value = Item> {
    vec((name(), value()), 0..5).prop_map(Item::from_iter)
}

pub(crate) fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![name().prop_map(Ok), (0_usize..3).prop_map(Err)];
    (name(), vec(step, 0..3)).prop_map(|(root, steps)| {
        steps.into_iter().fold(Path::new(root), |path, step| match step {
            Ok(name) => path.member(name),
            Err(index) => path.element(index),
        })
    })
}

pub(crate) fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        3 => path().prop_map(Operand::Path),
        3 => value().prop_map(Operand::Value),
        1 => path().prop_map(Operand::Size),
    ]
}

pub(crate) fn comparison() -> impl Strategy<Value = Comparison> {
    select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ])
}

/// One test on an item.
pub(crate) fn test() -> impl Strategy<Value = Condition> {
    let types = select(vec![ValueType::S, ValueType::N, ValueType::L, ValueType::M]);
    prop_oneof![
        (operand(), comparison(), operand()).prop_map(|(left, comparison, right)| {
            Condition::Compare { left, comparison, right }
        }),
        (operand(), operand(), operand()).prop_map(|(operand, low, high)| Condition::Between {
            operand,
            low,
            high
        }),
        (operand(), vec(operand(), 0..3))
            .prop_map(|(operand, choices)| Condition::In { operand, choices }),
        path().prop_map(Condition::Exists),
        path().prop_map(Condition::Missing),
        (path(), types).prop_map(|(path, value_type)| Condition::HasType(path, value_type)),
        (operand(), operand()).prop_map(|(left, right)| Condition::BeginsWith(left, right)),
        (operand(), operand()).prop_map(|(left, right)| Condition::Contains(left, right)),
    ]
}

pub(crate) fn condition() -> impl Strategy<Value = Condition> {
    test().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Condition::And),
            vec(inner.clone(), 0..3).prop_map(Condition::Or),
            inner.prop_map(Condition::not),
        ]
    })
}
