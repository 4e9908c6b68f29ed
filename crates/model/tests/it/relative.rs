//! Relative changes in patches: what they result in, and what is refused.

use keyloom_model::{Entity, check};
use keyloom_value::{Item, Number, Value};
use proptest::prelude::*;

const MODEL: &str = r#"
[entity.player]
fields.points = "int 0..100 = 0"
fields.total  = "int?"
fields.money  = "number = 0"
fields.scores = "list of int ..4 = []"
fields.notes  = "list of text? 1..3"
fields.locked = "int = 7"
fields.extra  = "any?"
fields.by     = "map of int = {}"
fields.when   = "time?"
read_only = ["locked"]
"#;

fn player() -> Entity {
    let model = check(MODEL).expect("the model is right");
    model.entity(model.find("player").expect("there are players")).clone()
}

fn number(text: &str) -> Value {
    Value::N(text.parse::<Number>().expect("a number"))
}

fn add(number: Value) -> Value {
    Value::M(Item::from([("$add", number)]))
}

fn append<const N: usize>(elements: [Value; N]) -> Value {
    Value::M(Item::from([("$append", Value::L(elements.to_vec()))]))
}

fn stored<const N: usize>(fields: [(&str, Value); N]) -> Item {
    player().admit(&Item::from(fields), 0).expect("it is right")
}

/// The value of a field after a patch of it, or the error.
fn patched(before: Option<Value>, name: &str, change: Value) -> String {
    let mut fields = stored([]);
    if let Some(before) = before {
        fields.insert(name, before);
    }
    match player().admit_patch(&fields, &Item::from([(name, change)])) {
        Ok(mut after) => after.remove(name).map_or_else(String::new, |value| value.to_string()),
        Err(errors) => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

#[test]
fn numbers_are_added_to_within_their_range() {
    let most = "99999999999999999999999999999999999999";
    let cases = [
        ("points", Some(number("7")), number("5"), "12"),
        ("points", Some(number("7")), number("-7"), "0"),
        ("points", Some(number("98")), number("2"), "100"),
        ("total", None, number("5"), "5"),
        ("total", Some(number("9223372036854775806")), number("1"), "9223372036854775807"),
        ("money", Some(number("0.1")), number("0.2"), "0.3"),
        (
            "money",
            Some(number("1E30")),
            number("0.0000001"),
            "1000000000000000000000000000000.0000001",
        ),
        ("money", Some(number(most)), number("-1"), "99999999999999999999999999999999999998"),
    ];
    for (name, before, addend, after) in cases {
        assert_eq!(patched(before, name, add(addend)), after, "{name}");
    }
    let refused = [
        ("points", number("98"), number("3"), "`points` must be from 0 to 100, and this is 101"),
        ("points", number("1"), number("-2"), "`points` must be from 0 to 100, and this is -1"),
        ("points", number("1"), number("0.5"), "`points` must be a whole number, and this is 1.5"),
        (
            "total",
            number("9223372036854775807"),
            number("1"),
            "`total` must be from -9223372036854775808 to 9223372036854775807, and this is \
             9223372036854775808",
        ),
        (
            "money",
            number(most),
            number("0.1"),
            "money.`$add` is 0.1, and the exact sum would have more than 38 digits; add less, or a \
             number with fewer decimals",
        ),
        (
            "money",
            number("1"),
            Value::from("1"),
            "money.`$add` must be a number of up to 38 digits, and this is a text",
        ),
        (
            "money",
            number("1"),
            Value::Null,
            "money.`$add` must be a number of up to 38 digits, and this is null",
        ),
    ];
    for (name, before, addend, error) in refused {
        assert_eq!(patched(Some(before), name, add(addend)), error, "{name}");
    }
}

#[test]
fn lists_are_appended_to_within_their_length() {
    let [one, two, three] = ["1", "2", "3"].map(number);
    let list = |elements: &[Value]| Some(Value::L(elements.to_vec()));
    let before = list(&[one.clone(), two.clone()]);
    let appended = |elements: &[Value]| Value::L(elements.to_vec()).to_string();
    assert_eq!(
        patched(before.clone(), "scores", append([three.clone(), one.clone()])),
        appended(&[one.clone(), two.clone(), three.clone(), one.clone()])
    );
    assert_eq!(patched(before.clone(), "scores", append([])), appended(&[one.clone(), two]));
    let note = Value::from("x");
    assert_eq!(patched(None, "notes", append([note.clone()])), appended(&[note]));
    let cases = [
        (
            "scores",
            before.clone(),
            append([one.clone(), one.clone(), one.clone()]),
            "`scores` must have at most 4 values, and this has 5",
        ),
        ("notes", None, append([]), "`notes` must have 1 to 3 values, and this has 0"),
        (
            "scores",
            before.clone(),
            append([Value::from("x")]),
            "`scores[2]` must be a whole number, and this is a text",
        ),
        (
            "scores",
            before,
            Value::M(Item::from([("$append", one)])),
            "scores.`$append` must be a list of at most 4 values, and this is a number",
        ),
    ];
    for (name, before, change, error) in cases {
        assert_eq!(patched(before, name, change), error, "{name}");
    }
}

#[test]
fn only_patches_of_numbers_and_lists_are_relative() {
    let one = || number("1");
    // A value like any other.
    assert_eq!(patched(None, "extra", add(one())), add(one()).to_string());
    assert_eq!(patched(None, "by", add(one())), add(one()).to_string());
    for (name, change) in [
        ("when", add(one())),
        ("scores", add(one())),
        ("points", append([one()])),
        ("points", Value::M(Item::from([("$add", one()), ("$append", Value::L(vec![]))]))),
        ("points", Value::M(Item::from([("$sub", one())]))),
    ] {
        let error = patched(None, name, change.clone());
        assert!(error.contains("and this is a map"), "{name} {change}: {error}");
    }
    let documents = [("points", add(one())), ("scores", append([one()]))];
    for (name, value) in documents {
        let errors = player().admit(&Item::from([(name, value)]), 0).expect_err("no patch");
        assert!(errors[0].to_string().ends_with("and this is a map"), "{errors:?}");
    }
    // A read-only field keeps its value, however that is said.
    let locked =
        |addend| player().admit_client_patch(&stored([]), &Item::from([("locked", add(addend))]));
    assert!(locked(number("0")).is_ok());
    assert!(locked(one()).is_err());
}

proptest! {
    /// Against integers: `points` and `total` as they are, `money` in hundredths.
    #[test]
    fn sums_equal_naive_ones(
        points in proptest::collection::vec(-60_i64..60, 0..20),
        total in proptest::collection::vec(any::<i64>(), 0..6),
        money in proptest::collection::vec(-100_000_i128..100_000, 0..20),
    ) {
        let entity = player();
        let mut fields = stored([]);
        let mut apply = |name: &str, addend: Value| {
            let patch = Item::from([(name, add(addend))]);
            match entity.admit_patch(&fields, &patch) {
                Ok(after) => { fields = after; true }
                Err(_) => false,
            }
        };
        let (mut expected, mut sum, mut cents) = (0_i64, None::<i64>, 0_i128);
        for addend in points {
            let fits = (0..=100).contains(&(expected + addend));
            prop_assert_eq!(apply("points", Value::from(addend)), fits);
            expected += if fits { addend } else { 0 };
        }
        for addend in total {
            let next = sum.unwrap_or(0).checked_add(addend);
            prop_assert_eq!(apply("total", Value::from(addend)), next.is_some());
            sum = next.or(sum);
        }
        for addend in money {
            let value = Number::from_parts(addend, -2).expect("a number");
            prop_assert!(apply("money", Value::N(value)));
            cents += addend;
        }
        prop_assert_eq!(fields.get("points"), Some(&Value::from(expected)));
        prop_assert_eq!(fields.get("total").cloned(), sum.map(Value::from));
        let money = Number::from_parts(cents, -2).expect("a number");
        prop_assert_eq!(fields.get("money"), Some(&Value::N(money)));
        prop_assert_eq!(entity.check_fields(&fields), Ok(()));
    }
}
