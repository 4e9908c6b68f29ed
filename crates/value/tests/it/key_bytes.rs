//! Key bytes sort like their values, and every key has one encoding.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use keyloom_value::{Item, KeyBytes, KeyBytesError, Value, ValueType};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::generators::{bytes, cases, key_value, text};

fn encode(values: &[Value]) -> Vec<u8> {
    let mut key = KeyBytes::new();
    for value in values {
        key.push(value).unwrap_or_else(|error| panic!("{value}: {error}"));
    }
    key.into_vec()
}

fn encode_one(value: &Value) -> Vec<u8> {
    encode(std::slice::from_ref(value))
}

fn prefix(value: &Value) -> Vec<u8> {
    let mut key = KeyBytes::new();
    key.push_prefix(value).unwrap_or_else(|error| panic!("{value}: {error}"));
    key.into_vec()
}

/// The order of keys: numbers, then strings, then bytes, each in its own order.
fn compare(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value.value_type() {
        ValueType::N => 0,
        ValueType::S => 1,
        _ => 2,
    };
    rank(left).cmp(&rank(right)).then_with(|| left.compare(right).unwrap_or(Ordering::Equal))
}

/// The order of composite keys: by the first part that differs, and a prefix first.
fn compare_all(left: &[Value], right: &[Value]) -> Ordering {
    let parting = left.iter().zip(right).map(|(left, right)| compare(left, right));
    parting.into_iter().find(|order| order.is_ne()).unwrap_or(left.len().cmp(&right.len()))
}

/// Two keys that are equal up to some part.
fn keys() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    (vec(key_value(), 0..3), vec(key_value(), 0..3), vec(key_value(), 0..3)).prop_map(
        |(shared, left, right)| ([shared.clone(), left].concat(), [shared, right].concat()),
    )
}

/// An encoded key with a few bytes replaced, inserted or removed.
fn damaged_key() -> impl Strategy<Value = Vec<u8>> {
    let damage = vec((any::<prop::sample::Index>(), 0_usize..3, bytes()), 0..3);
    (vec(key_value(), 0..3), damage).prop_map(|(values, damage)| {
        let mut key = encode(&values);
        for (at, removed, inserted) in damage {
            let start = at.index(key.len() + 1);
            let end = key.len().min(start + removed);
            key.splice(start..end, inserted);
        }
        key
    })
}

fn check_strict(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(values) = KeyBytes::decode(bytes) {
        prop_assert_eq!(encode(&values), bytes);
    }
    if let Ok((value, rest)) = KeyBytes::decode_part(bytes) {
        prop_assert_eq!(KeyBytes::skip_part(bytes), Ok(rest));
        prop_assert_eq!([&encode(&[value])[..], rest].concat(), bytes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn byte_order_is_value_order_of_parts(left in key_value(), right in key_value()) {
        let bytes = encode_one(&left).cmp(&encode_one(&right));
        prop_assert_eq!(bytes, compare(&left, &right));
    }

    #[test]
    fn byte_order_is_value_order_of_composite_keys((left, right) in keys()) {
        prop_assert_eq!(encode(&left).cmp(&encode(&right)), compare_all(&left, &right));
    }

    #[test]
    fn descending_parts_sort_in_reverse(
        left in key_value(), right in key_value(), directions: [bool; 2], (a, b) in keys(),
    ) {
        let encode = |first: &Value, rest: &[Value]| {
            let mut bytes = KeyBytes::new();
            for (value, descending) in std::iter::once(first).chain(rest).zip(directions) {
                let push = if descending { KeyBytes::push_descending } else { KeyBytes::push };
                push(&mut bytes, value).expect("it is a key value");
            }
            bytes
        };
        let turn = |order: Ordering, descending| if descending { order.reverse() } else { order };
        let mut expected = turn(compare(&left, &right), directions[0]);
        if let ([a, ..], [b, ..]) = (&a[..], &b[..]) {
            expected = expected.then(turn(compare(a, b), directions[1]));
            let (a, b) = (std::slice::from_ref(a), std::slice::from_ref(b));
            prop_assert_eq!(encode(&left, a).cmp(&encode(&right, b)), expected);
        } else {
            prop_assert_eq!(encode(&left, &[]).cmp(&encode(&right, &[])), expected);
        }
    }

    #[test]
    fn no_part_is_a_prefix_of_another_part(left in key_value(), right in key_value()) {
        let (left_bytes, right_bytes) = (encode_one(&left), encode_one(&right));
        prop_assert_eq!(left_bytes.starts_with(&right_bytes), left == right);
    }

    #[test]
    fn keys_decode_to_their_values(values in vec(key_value(), 0..5)) {
        let key = encode(&values);
        prop_assert_eq!(KeyBytes::decode(&key), Ok(values.clone()));
        let mut rest = key.as_slice();
        for value in values {
            let skipped = KeyBytes::skip_part(rest);
            let (decoded, after) = KeyBytes::decode_part(rest)
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(decoded, value);
            prop_assert_eq!(skipped, Ok(after));
            rest = after;
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn a_descending_part_can_be_skipped(value in key_value(), after in bytes()) {
        let mut key = KeyBytes::new();
        prop_assert_eq!(key.push_descending(&value), Ok(()));
        let key = [key.as_bytes(), &after].concat();
        prop_assert_eq!(KeyBytes::skip_descending(&key), Ok(&after[..]));
    }

    #[test]
    fn damaged_keys_decode_only_to_what_encodes_to_them(bytes in damaged_key()) {
        check_strict(&bytes)?;
    }

    #[test]
    fn random_bytes_decode_only_to_what_encodes_to_them(
        tag in 0_u8..5,
        content in prop_oneof![bytes(), vec(any::<u8>(), 0..30)],
    ) {
        check_strict(&content)?;
        check_strict(&[&[tag], &content[..]].concat())?;
    }

    #[test]
    fn a_truncated_part_is_reported(value in key_value(), cut: prop::sample::Index) {
        let key = encode(&[value]);
        let cut = &key[..cut.index(key.len())];
        prop_assert_eq!(KeyBytes::decode_part(cut), Err(KeyBytesError::Truncated));
        prop_assert_eq!(KeyBytes::skip_part(cut), Err(KeyBytesError::Truncated));
    }

    #[test]
    fn a_prefix_of_a_value_is_a_prefix_of_its_key(
        begin in text(), whole in text(), tail in text(),
        begin_bytes in bytes(), whole_bytes in bytes(), tail_bytes in bytes(),
    ) {
        for whole in [whole, format!("{begin}{tail}")] {
            let starts = encode(&[Value::S(whole.clone())]).starts_with(&prefix(&Value::S(begin.clone())));
            prop_assert_eq!(starts, whole.starts_with(&begin));
        }
        for whole in [whole_bytes, [&begin_bytes[..], &tail_bytes[..]].concat()] {
            let starts = encode(&[Value::B(whole.clone())]).starts_with(&prefix(&Value::B(begin_bytes.clone())));
            prop_assert_eq!(starts, whole.starts_with(&begin_bytes));
        }
    }

    #[test]
    fn after_prefix_is_the_end_of_the_range_of_a_prefix(
        prefix in bytes(), other in bytes(), tail in bytes(),
    ) {
        let inside = [&prefix[..], &tail[..]].concat();
        for candidate in [inside, other] {
            let in_range = candidate >= prefix
                && KeyBytes::after_prefix(&prefix).is_none_or(|after| candidate < after);
            prop_assert_eq!(in_range, candidate.starts_with(&prefix));
        }
    }

    #[test]
    fn before_bounds_exactly_the_smaller_keys(
        (mut left, right) in keys(),
        last in prop_oneof![text().prop_map(Value::from), bytes().prop_map(Value::from)],
    ) {
        left.push(last);
        let (key, other) = (encode(&left), encode(&right));
        prop_assert_eq!(other.as_slice() <= KeyBytes::before(&key), other < key);
    }
}

/// The format is stored on disk: a change breaks every existing database.
#[test]
fn encoded_bytes_are_frozen() {
    let number = |text: &str| Value::N(text.parse().expect("it is a number"));
    let cases = [
        (number("0"), "0101"),
        (number("1"), "0102820b00"),
        (number("-1"), "01007df4ff"),
        (number("123.4"), "0102840d2300"),
        (number("-123.4"), "01007bf2dcff"),
        (number("100"), "0102840b00"),
        (number("0.05"), "0102803300"),
        (number("1E-130"), "0102000b00"),
        (number("9.9E125"), "0102ff6400"),
        (Value::from(""), "020001"),
        (Value::from("a\0b"), "026100ff620001"),
        (Value::from("é"), "02c3a90001"),
        (Value::B(vec![]), "030001"),
        (Value::from(vec![0x00, 0xFF, 0x01]), "0300ffff010001"),
    ];
    for (value, expected) in cases {
        let hex: String = encode_one(&value).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected, "{value}");
    }
}

#[test]
fn zeros_and_digits_of_every_length_keep_their_order() {
    let mut in_order = Vec::new();
    for digits in 1..=38 {
        let text = format!("0.{}", "9".repeat(digits));
        in_order.push(Value::N(text.parse().expect("it is a number")));
    }
    in_order.extend((0..40).map(|len| Value::from("\0".repeat(len))));
    in_order.extend((0..40).map(|len| Value::from("a".repeat(len + 1))));
    in_order.extend((0..40).map(|len| Value::from(vec![0x00; len])));
    in_order.extend((0..40).map(|len| Value::from(vec![0xFF; len + 1])));
    let keys: Vec<Vec<u8>> = in_order.iter().map(encode_one).collect();
    assert!(keys.is_sorted_by(|left, right| left < right));
}

#[test]
fn only_texts_numbers_and_bytes_are_keys() {
    let others = [
        Value::Bool(true),
        Value::Null,
        Value::L(vec![]),
        Value::M(Item::new()),
        Value::Ss(BTreeSet::new()),
        Value::Ns(BTreeSet::new()),
        Value::Bs(BTreeSet::new()),
    ];
    for value in others {
        let mut key = KeyBytes::new();
        let found = value.value_type();
        assert_eq!(key.push(&value), Err(KeyBytesError::NotAKeyType { found }));
        assert_eq!(key.push_prefix(&value), Err(KeyBytesError::NotAPrefixType { found }));
        assert!(key.as_bytes().is_empty());
    }
    let found = ValueType::N;
    let mut key = KeyBytes::new();
    assert_eq!(key.push_prefix(&Value::from(1)), Err(KeyBytesError::NotAPrefixType { found }));
}

#[test]
fn corruption_is_reported() {
    let cases: [(&[u8], KeyBytesError); 12] = [
        (&[0x04], KeyBytesError::UnknownTag { tag: 0x04 }),
        (&[0x00], KeyBytesError::UnknownTag { tag: 0x00 }),
        (&[0x02, b'a'], KeyBytesError::Truncated),
        (&[0x02, 0x00], KeyBytesError::Truncated),
        (&[0x02, 0x00, 0x02], KeyBytesError::BadEscape { byte: 0x02 }),
        (&[0x02, 0xFF, 0x00, 0x01], KeyBytesError::NotUtf8),
        (&[0x01, 0x03], KeyBytesError::BadNumber),
        // No digits; a leading zero; a trailing pair of zeros; a pair over 99.
        (&[0x01, 0x02, 0x82, 0x00], KeyBytesError::BadNumber),
        (&[0x01, 0x02, 0x82, 0x0A, 0x00], KeyBytesError::BadNumber),
        (&[0x01, 0x02, 0x82, 0x0B, 0x01, 0x00], KeyBytesError::BadNumber),
        (&[0x01, 0x02, 0x82, 0x65, 0x00], KeyBytesError::BadNumber),
        (&[0x01, 0x02, 0x82], KeyBytesError::Truncated),
    ];
    for (bytes, expected) in cases {
        assert_eq!(KeyBytes::decode(bytes), Err(expected));
    }
    let twenty_pairs = [&[0x01, 0x02, 0x82][..], &[0x0C; 20], &[0x00]].concat();
    assert_eq!(KeyBytes::decode(&twenty_pairs), Err(KeyBytesError::BadNumber));
}
