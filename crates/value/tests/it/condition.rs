//! Conditions evaluate as in DynamoDB, also for absent values and mismatched types.

use keyloom_value::{Comparison, Condition, Item, Number, Operand, Path, Value, ValueType};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::generators::{cases, condition, item, operand, path};

fn example() -> Item {
    Item::from([
        ("flag", Value::from(true)),
        ("l", Value::L(vec![Value::from("x"), Value::from(2)])),
        ("m", Value::M(Item::from([("k", Value::from(5))]))),
        ("n", Value::from(10)),
        ("nothing", Value::Null),
        ("raw", Value::from(vec![1_u8, 2, 3])),
        ("s", Value::from("hello")),
        ("tags", Value::Ss(["a".to_owned(), "b".to_owned()].into())),
        ("wide", Value::from("é𝄞")),
    ])
}

fn at(path: &str) -> Operand {
    Operand::Path(Path::from(path))
}

fn is(value: impl Into<Value>) -> Operand {
    Operand::Value(value.into())
}

fn check(cases: &[(Condition, bool)]) {
    let item = example();
    for (condition, expected) in cases {
        assert_eq!(condition.holds(Some(&item)), *expected, "{condition}");
    }
}

#[test]
fn comparisons_order_texts_numbers_and_bytes_of_one_type_only() {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let compare = |left, comparison, right| Condition::Compare { left, comparison, right };
    let ten: Number = "1.0E1".parse().expect("it is a number");
    check(&[
        (compare(at("n"), Equal, is(ten)), true),
        (compare(at("n"), Less, is(9)), false),
        (compare(at("n"), GreaterOrEqual, is(10)), true),
        (compare(at("s"), Greater, is("hell")), true),
        (compare(at("s"), Less, is("i")), true),
        (compare(at("raw"), Less, is(vec![1_u8, 2, 4])), true),
        (compare(at("n"), Less, is("9")), false),
        (compare(at("n"), Greater, is("9")), false),
        (compare(at("n"), Equal, is("10")), false),
        (compare(at("n"), NotEqual, is("10")), true),
        (compare(at("flag"), Equal, is(true)), true),
        (compare(at("flag"), LessOrEqual, is(true)), false),
        (compare(at("nothing"), Equal, is(Value::Null)), true),
        (compare(at("m"), Equal, is(Item::from([("k", 5)]))), true),
        (compare(at("m"), LessOrEqual, at("m")), false),
        (compare(at("tags"), Equal, is(Value::Ss(["b".to_owned(), "a".to_owned()].into()))), true),
    ]);
}

#[test]
fn absent_operands_are_unequal_to_everything_and_ordered_with_nothing() {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    for comparison in [Equal, Less, LessOrEqual, Greater, GreaterOrEqual, NotEqual] {
        for (left, right) in [(at("none"), is(1)), (is(1), at("none")), (at("none"), at("gone"))] {
            let condition = Condition::Compare { left, comparison, right };
            assert_eq!(condition.holds(Some(&example())), comparison == NotEqual, "{condition}");
            assert_eq!(condition.holds(None), comparison == NotEqual, "{condition}");
        }
    }
    check(&[
        (Condition::Between { operand: at("none"), low: at("none"), high: at("none") }, false),
        (Condition::In { operand: at("none"), choices: vec![at("none")] }, false),
        (Condition::BeginsWith(at("none"), is("")), false),
        (Condition::Contains(at("s"), at("none")), false),
        (Condition::HasType(Path::from("none"), ValueType::Null), false),
    ]);
}

#[test]
fn functions_accept_only_their_types() {
    check(&[
        (Condition::BeginsWith(at("s"), is("he")), true),
        (Condition::BeginsWith(at("s"), is("lo")), false),
        (Condition::BeginsWith(at("raw"), is(vec![1_u8])), true),
        (Condition::BeginsWith(at("n"), is(1)), false),
        (Condition::Contains(at("s"), is("ell")), true),
        (Condition::Contains(at("s"), is("")), true),
        (Condition::Contains(at("raw"), is(vec![2_u8, 3])), true),
        (Condition::Contains(at("raw"), is(vec![3_u8, 2])), false),
        (Condition::Contains(at("tags"), is("a")), true),
        (Condition::Contains(at("tags"), is("ab")), false),
        (Condition::Contains(at("l"), is(2)), true),
        (Condition::Contains(at("l"), is("2")), false),
        (Condition::Contains(at("m"), is("k")), false),
        (Condition::Contains(at("n"), is(1)), false),
        (Condition::HasType(Path::from("tags"), ValueType::Ss), true),
        (Condition::HasType(Path::from("tags"), ValueType::S), false),
        (Condition::exists("nothing"), true),
        (Condition::exists(Path::from("l").element(2)), false),
        (Condition::missing(Path::from("m").member("k")), false),
    ]);
}

#[test]
fn size_counts_utf_16_units_bytes_and_elements() {
    let sizes = [("s", 5), ("wide", 3), ("raw", 3), ("l", 2), ("m", 1), ("tags", 2)];
    for (name, size) in sizes {
        check(&[(Condition::equal(Operand::size(name), Value::from(size)), true)]);
    }
    for name in ["n", "flag", "nothing", "none"] {
        let size = Operand::size(name);
        let at_least_none = Condition::compare(size, Comparison::GreaterOrEqual, Value::from(0));
        check(&[(at_least_none, false)]);
    }
}

#[test]
fn an_empty_and_holds_and_an_empty_or_does_not() {
    check(&[(Condition::And(vec![]), true), (Condition::Or(vec![]), false)]);
}

#[test]
fn operators_are_counted_as_in_an_expression() {
    let test = || Condition::equal(at("a"), is(1));
    let sized = Condition::equal(Operand::size("a"), Operand::size("b"));
    let cases = [
        (test(), 1, 0),
        (sized, 3, 0),
        (test().and(test()).and(test()), 5, 1),
        (test().and(test()).or(test()), 5, 2),
        (Condition::Or(vec![test()]), 1, 1),
        (Condition::And(vec![]), 0, 0),
        (Condition::In { operand: at("a"), choices: vec![is(1), is(2)] }, 1, 0),
        (Condition::missing("a").not().not(), 3, 2),
    ];
    for (condition, operators, depth) in cases {
        assert_eq!((condition.operators(), condition.depth()), (operators, depth), "{condition}");
    }
}

#[test]
fn deep_conditions_are_evaluated_and_deeper_ones_still_measured() {
    let nested = |levels| (0..levels).fold(Condition::exists("a"), |inner, _| inner.not());
    let item = Item::from([("a", 1)]);
    assert!(nested(2_000).holds(Some(&item)));
    assert!(!nested(2_001).holds(Some(&item)));
    let condition = nested(200_000);
    assert_eq!((condition.depth(), condition.operators()), (200_000, 200_001));
    // Dropping is recursive and would overflow the stack.
    std::mem::forget(condition);
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn negation_and_de_morgan_hold(
        item in proptest::option::of(item()), left in condition(), right in condition(),
    ) {
        let item = item.as_ref();
        let (left_holds, right_holds) = (left.holds(item), right.holds(item));
        prop_assert_eq!(left.clone().not().holds(item), !left_holds);
        prop_assert_eq!(left.clone().and(right.clone()).holds(item), left_holds && right_holds);
        prop_assert_eq!(left.clone().or(right.clone()).holds(item), left_holds || right_holds);
        let neither = left.clone().or(right.clone()).not();
        prop_assert_eq!(neither.holds(item), left.not().and(right.not()).holds(item));
    }

    #[test]
    fn unequal_is_not_equal_and_missing_is_not_existing(
        item in item(), left in operand(), right in operand(), path in path(),
    ) {
        let unequal = Condition::compare(left.clone(), Comparison::NotEqual, right.clone());
        prop_assert_ne!(unequal.holds(Some(&item)), Condition::equal(left, right).holds(Some(&item)));
        let exists = Condition::exists(path.clone()).holds(Some(&item));
        prop_assert_eq!(exists, path.get(&item).is_some());
        prop_assert_ne!(exists, Condition::missing(path).holds(Some(&item)));
    }

    #[test]
    fn between_and_in_are_short_for_comparisons(
        item in item(), operand in operand(), low in operand(), high in operand(),
        choices in vec(operand(), 0..4),
    ) {
        let above = Condition::compare(low.clone(), Comparison::LessOrEqual, operand.clone());
        let below = Condition::compare(operand.clone(), Comparison::LessOrEqual, high.clone());
        let between = Condition::Between { operand: operand.clone(), low, high };
        prop_assert_eq!(between.holds(Some(&item)), above.and(below).holds(Some(&item)));
        let equals = choices.iter().map(|choice| Condition::equal(operand.clone(), choice.clone()));
        let any = Condition::Or(equals.collect());
        let is_in = Condition::In { operand, choices };
        prop_assert_eq!(is_in.holds(Some(&item)), any.holds(Some(&item)));
    }

    #[test]
    fn at_most_one_of_less_equal_and_greater_holds(
        item in item(), left in operand(), right in operand(),
    ) {
        let holds = |comparison| {
            Condition::compare(left.clone(), comparison, right.clone()).holds(Some(&item))
        };
        let (less, equal, greater) =
            (holds(Comparison::Less), holds(Comparison::Equal), holds(Comparison::Greater));
        prop_assert!(usize::from(less) + usize::from(equal) + usize::from(greater) <= 1);
        let ordered = less || greater || holds(Comparison::LessOrEqual);
        prop_assert_eq!(holds(Comparison::LessOrEqual), ordered && (less || equal));
        prop_assert_eq!(holds(Comparison::GreaterOrEqual), ordered && (greater || equal));
    }

    #[test]
    fn contains_finds_bytes_at_every_position(
        haystack in vec(select(vec![0_u8, 1]), 0..40), needle in vec(select(vec![0_u8, 1]), 0..8),
    ) {
        let expected =
            needle.is_empty() || haystack.windows(needle.len()).any(|window| window == needle);
        let contains = Condition::Contains(is(haystack), is(needle));
        prop_assert_eq!(contains.holds(None), expected);
    }

    #[test]
    fn an_item_that_does_not_exist_is_like_one_without_attributes(condition in condition()) {
        prop_assert_eq!(condition.holds(None), condition.holds(Some(&Item::new())));
    }
}
