//! Key conditions select by equality, range and prefix, never across types.

use std::cmp::Ordering;

use keyloom_value::{Item, KeyCondition, KeyTest, Value};
use proptest::prelude::*;

use crate::generators::{cases, key_value, value};

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn tests_agree_with_the_order_of_values(value in key_value(), bound in key_value(), high in key_value()) {
        let order = value.compare(&bound);
        let below = value.compare(&high).is_some_and(Ordering::is_le);
        let cases = [
            (KeyTest::Equal(bound.clone()), order.is_some_and(Ordering::is_eq)),
            (KeyTest::Less(bound.clone()), order.is_some_and(Ordering::is_lt)),
            (KeyTest::LessOrEqual(bound.clone()), order.is_some_and(Ordering::is_le)),
            (KeyTest::Greater(bound.clone()), order.is_some_and(Ordering::is_gt)),
            (KeyTest::GreaterOrEqual(bound.clone()), order.is_some_and(Ordering::is_ge)),
            (KeyTest::Between(bound, high), order.is_some_and(Ordering::is_ge) && below),
        ];
        for (test, expected) in cases {
            prop_assert_eq!(test.matches(&value), expected);
        }
    }

    #[test]
    fn a_value_of_another_type_passes_no_test(value in value(), bound in key_value()) {
        if value.value_type() != bound.value_type() {
            let tests = [
                KeyTest::Equal(bound.clone()),
                KeyTest::LessOrEqual(bound.clone()),
                KeyTest::GreaterOrEqual(bound.clone()),
                KeyTest::BeginsWith(bound),
            ];
            prop_assert!(tests.iter().all(|test| !test.matches(&value)));
        }
    }
}

#[test]
fn every_test_must_pass_and_absent_attributes_pass_none() {
    let item = Item::from([("id", Value::from("u1")), ("at", Value::from("2024-05"))]);
    let of_user = KeyCondition::equal("id", "u1");
    assert!(of_user.matches(&item));
    assert!(of_user.clone().and("at", KeyTest::BeginsWith(Value::from("2024"))).matches(&item));
    assert!(!of_user.clone().and("at", KeyTest::BeginsWith(Value::from("2025"))).matches(&item));
    assert!(!of_user.and("none", KeyTest::GreaterOrEqual(Value::from(""))).matches(&item));
    assert!(!KeyCondition::equal("id", 1).matches(&item));
}

#[test]
fn bytes_and_texts_begin_only_with_their_own_type() {
    let bytes = Value::from(vec![1_u8, 0, 2]);
    assert!(KeyTest::BeginsWith(Value::from(vec![1_u8, 0])).matches(&bytes));
    assert!(!KeyTest::BeginsWith(Value::from(vec![0_u8])).matches(&bytes));
    assert!(!KeyTest::BeginsWith(Value::from("a")).matches(&Value::from(b"ab".to_vec())));
    assert!(!KeyTest::BeginsWith(Value::from(1)).matches(&Value::from(12)));
}
