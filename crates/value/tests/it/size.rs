//! Sizes follow DynamoDB's published rules.

use keyloom_value::{Item, Number, Value};
use proptest::prelude::*;

use crate::generators::{cases, item, value};

fn number(text: &str) -> Value {
    Value::N(text.parse().unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn values_have_the_documented_sizes() {
    let map = Item::from([("a", Value::from("xy")), ("long", Value::Null)]);
    let cases = [
        (Value::from(""), 0),
        (Value::from("hello"), 5),
        (Value::from("é𝄞"), 6),
        (number("0"), 1),
        (number("7"), 2),
        (number("27"), 2),
        (number("-27"), 3),
        (number("461"), 3),
        (number("1E100"), 2),
        (number("-0.0001234"), 4),
        (number("12345678901234567890123456789012345678"), 20),
        (Value::from(vec![0_u8; 9]), 9),
        (Value::from(true), 1),
        (Value::Null, 1),
        (Value::L(vec![]), 3),
        (Value::L(vec![Value::from("abc"), Value::L(vec![])]), 3 + 2 + 3 + 3),
        (Value::M(map), 3 + 2 + 5 + 2 + 1),
        (Value::Ss(["a".to_owned(), "bcd".to_owned()].into()), 4),
        (Value::Ns([Number::from(5), Number::from(-123)].into()), 2 + 4),
        (Value::Bs([vec![1, 2], vec![]].into()), 2),
    ];
    for (value, expected) in cases {
        assert_eq!(value.size(), expected, "{value}");
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn the_size_of_an_item_is_that_of_its_names_and_values(item in item()) {
        let expected: usize =
            item.iter().map(|(name, value)| name.as_str().len() + value.size()).sum();
        prop_assert_eq!(item.size(), expected);
        prop_assert_eq!(Value::M(item.clone()).size(), 3 + item.len() + expected);
    }

    #[test]
    fn an_element_adds_its_size_and_one_byte(elements in proptest::collection::vec(value(), 0..4), more in value()) {
        let before = Value::L(elements.clone()).size();
        let size = more.size();
        let after = Value::L([elements, vec![more]].concat()).size();
        prop_assert_eq!(after, before + 1 + size);
    }
}
