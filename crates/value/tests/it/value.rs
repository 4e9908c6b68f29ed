//! Type, order and depth of values.

use std::cmp::Ordering;

use keyloom_value::{Item, Number, Value, ValueType};
use proptest::prelude::*;

use crate::generators::{cases, value};

/// A list in a list in a list, and so on.
fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, level| {
        if level % 2 == 0 { Value::L(vec![inner]) } else { Value::M(Item::from([("m", inner)])) }
    })
}

fn depth(value: &Value) -> usize {
    match value {
        Value::L(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::M(members) => 1 + members.iter().map(|(_, it)| depth(it)).max().unwrap_or(0),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn depth_counts_lists_and_maps_around_the_innermost_value(value in value()) {
        prop_assert_eq!(value.depth(), depth(&value));
    }

    #[test]
    fn only_texts_numbers_and_bytes_of_one_type_have_an_order(left in value(), right in value()) {
        let ordered = [ValueType::S, ValueType::N, ValueType::B];
        let comparable =
            left.value_type() == right.value_type() && ordered.contains(&left.value_type());
        prop_assert_eq!(left.compare(&right).is_some(), comparable);
        prop_assert_eq!(left.compare(&right).map(Ordering::reverse), right.compare(&left));
        prop_assert_eq!(left.compare(&right) == Some(Ordering::Equal), comparable && left == right);
    }
}

#[test]
fn depth_and_size_of_any_nesting_fit_the_stack() {
    let levels = 200_000;
    let value = nested(levels);
    assert_eq!(value.depth(), levels);
    assert_eq!(value.size(), 1 + levels * 4 + levels / 2);
    // Dropping is recursive and would overflow the stack.
    std::mem::forget(value);
}

#[test]
fn a_value_is_32_bytes() {
    assert_eq!(std::mem::size_of::<Value>(), 32);
}

#[test]
fn accessors_see_their_own_type_only() {
    assert_eq!(Value::from("a").as_s(), Some("a"));
    assert_eq!(Value::from(7_u64).as_n(), Some(&Number::from(7_u64)));
    assert_eq!(Value::from(vec![1_u8]).as_b(), Some(&[1_u8][..]));
    let other = Value::from(true);
    assert_eq!((other.as_s(), other.as_n(), other.as_b()), (None, None, None));
}

#[test]
fn types_have_the_names_that_dynamodb_gives_them() {
    let cases = [
        (Value::from("a"), "S"),
        (Value::from(1_i64), "N"),
        (Value::from(vec![0_u8]), "B"),
        (Value::from(true), "BOOL"),
        (Value::Null, "NULL"),
        (Value::from(vec![Value::Null]), "L"),
        (Value::from(Item::new()), "M"),
        (Value::Ss(["a".to_owned()].into()), "SS"),
        (Value::Ns([Number::ZERO].into()), "NS"),
        (Value::Bs([vec![0]].into()), "BS"),
    ];
    for (value, name) in cases {
        assert_eq!(value.value_type().to_string(), name);
    }
}
