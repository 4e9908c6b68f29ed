//! Numbers are exact decimals with one representation per value.

use std::collections::HashSet;

use keyloom_value::{Number, NumberError};
use proptest::prelude::*;

use crate::decimal::Decimal;
use crate::generators::{cases, number};

fn parse(text: &str) -> Number {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A spelling of `coefficient * 10^exponent`, with extra zeros, a point somewhere and an exponent
/// that compensates for it.
fn spelled(coefficient: i128, exponent: i16) -> impl Strategy<Value = String> {
    let digits = coefficient.unsigned_abs().to_string();
    let point = 0..=digits.len();
    let choices = (point, 0_usize..4, 0_usize..4, any::<bool>(), any::<bool>());
    choices.prop_map(move |(point, leading, trailing, upper, plus)| {
        let sign = if coefficient < 0 {
            "-"
        } else if plus {
            "+"
        } else {
            ""
        };
        let zeros = "0".repeat(leading);
        let (whole, fraction) = digits.split_at(point);
        let fraction = format!("{fraction}{}", "0".repeat(trailing));
        let shift = i32::from(exponent) + (digits.len() - point) as i32;
        let letter = if upper { 'E' } else { 'e' };
        let exponent_sign = if plus && shift >= 0 { "+" } else { "" };
        if zeros.is_empty() && whole.is_empty() && fraction.is_empty() {
            return format!("{sign}0");
        }
        format!("{sign}{zeros}{whole}.{fraction}{letter}{exponent_sign}{shift}")
    })
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn order_is_that_of_schoolbook_decimals(left in number(), right in number()) {
        let expected = Decimal::from(&left).compare(&Decimal::from(&right));
        prop_assert_eq!(left.cmp(&right), expected);
        prop_assert_eq!(left == right, expected.is_eq());
    }

    #[test]
    fn sums_and_differences_are_exact_or_refused(left in number(), right in number()) {
        let (left_decimal, right_decimal) = (Decimal::from(&left), Decimal::from(&right));
        prop_assert_eq!(left.checked_add(&right), left_decimal.plus(&right_decimal).to_number());
        prop_assert_eq!(
            left.checked_sub(&right),
            left_decimal.plus(&right_decimal.negated()).to_number()
        );
    }

    #[test]
    fn a_printed_number_parses_to_itself(number in number()) {
        let text = number.to_string();
        prop_assert_eq!(parse(&text), number);
        prop_assert!(!text.contains(['e', 'E', '+']), "{} is not in plain digits", text);
    }

    #[test]
    fn every_spelling_of_a_value_is_one_number(
        (number, text) in number().prop_flat_map(|number| {
            let (coefficient, exponent) = number.parts();
            (Just(number), spelled(coefficient, exponent))
        })
    ) {
        let read = parse(&text);
        prop_assert_eq!(read, number);
        prop_assert_eq!(HashSet::from([read, number]).len(), 1);
    }

    #[test]
    fn parts_are_canonical_and_build_the_number_again(number in number()) {
        let (coefficient, exponent) = number.parts();
        prop_assert_eq!(Number::from_parts(coefficient, exponent), Ok(number));
        prop_assert!(coefficient % 10 != 0 || number == Number::ZERO && exponent == 0);
        let digits = if coefficient == 0 { 0 } else { coefficient.unsigned_abs().to_string().len() };
        prop_assert_eq!(number.digits() as usize, digits);
    }

    #[test]
    fn from_parts_keeps_the_limits_for_any_input(
        coefficient in prop_oneof![any::<i128>(), any::<i64>().prop_map(i128::from)],
        exponent in prop_oneof![any::<i16>(), -180_i16..140],
    ) {
        // The reference covers these exponents; everything beyond is out of range, unless it has
        // too many digits anyway.
        let expected = match Decimal::from_parts(coefficient, 0).to_number() {
            Ok(number) if number != Number::ZERO && exponent < -170 => Err(NumberError::TooSmall),
            Ok(number) if number != Number::ZERO && exponent > 130 => Err(NumberError::TooLarge),
            Ok(Number::ZERO) => Ok(Number::ZERO),
            Ok(_) => Decimal::from_parts(coefficient, exponent).to_number(),
            Err(error) => Err(error),
        };
        prop_assert_eq!(Number::from_parts(coefficient, exponent), expected);
    }

    #[test]
    fn integers_round_trip(integer: i64) {
        prop_assert_eq!(Number::from(integer).to_i64(), Some(integer));
        prop_assert_eq!(Number::from(integer), parse(&integer.to_string()));
        prop_assert_eq!(Number::from(integer as u64), parse(&(integer as u64).to_string()));
        prop_assert_eq!(Number::from(integer as i32), parse(&(integer as i32).to_string()));
        prop_assert_eq!(Number::from(integer as u32), parse(&(integer as u32).to_string()));
    }

    #[test]
    fn only_integers_in_range_become_integers(number in number()) {
        let expected = number.to_string().parse::<i64>().ok();
        prop_assert_eq!(number.to_i64(), expected);
    }

    #[test]
    fn reading_any_text_gives_a_number_or_an_error(text in "[-+0-9.eE]{0,12}|.{0,6}") {
        if let Ok(number) = text.parse::<Number>() {
            prop_assert_eq!(parse(&number.to_string()), number);
        }
    }
}

#[test]
fn numbers_print_in_plain_digits() {
    let cases = [
        ("0", "0"),
        ("-0.0e7", "0"),
        ("1E2", "100"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("+007.50", "7.5"),
        ("12.34e1", "123.4"),
        ("12.34e2", "1234"),
        ("12.34e-3", "0.01234"),
        ("1.5e-10", "0.00000000015"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).to_string(), expected, "{text}");
    }
}

#[test]
fn texts_that_are_not_numbers_are_refused() {
    let texts = [
        "", " ", "-", "+", ".", "-.", "e5", "1e", "1e+", "1e1.5", "1.2.3", "1 ", " 1", "--1",
        "+-1", "0x10", "1_000", "NaN", "Infinity", "１", "1e5e5", "1,5",
    ];
    for text in texts {
        let expected = Err(NumberError::Malformed { text: text.to_owned() });
        assert_eq!(text.parse::<Number>(), expected, "{text}");
    }
}

#[test]
fn limits_are_inclusive_and_one_step_beyond_is_refused() {
    let nines = "9".repeat(38);
    let cases = [
        (format!("{nines}E88"), Ok(())),
        ("1E126".to_owned(), Err(NumberError::TooLarge)),
        ("-1E126".to_owned(), Err(NumberError::TooLarge)),
        ("1E-130".to_owned(), Ok(())),
        ("1.0000000000000000000000000000000000001E-130".to_owned(), Ok(())),
        ("9.9E-131".to_owned(), Err(NumberError::TooSmall)),
        (format!("{nines}1"), Err(NumberError::TooManyDigits)),
        (format!("{nines}0000"), Ok(())),
        (format!("0.{}{nines}", "0".repeat(92)), Ok(())),
        (format!("1{}1", "0".repeat(37)), Err(NumberError::TooManyDigits)),
        (format!("1{}E-200", "0".repeat(300)), Ok(())),
        (format!("{}1E-99999999999999999999", "0".repeat(1000)), Err(NumberError::TooSmall)),
        ("1E99999999999999999999".to_owned(), Err(NumberError::TooLarge)),
        ("0E99999999999999999999".to_owned(), Ok(())),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Number>().map(|_| ()), expected, "{text}");
    }
}

#[test]
fn sums_across_the_whole_range_are_refused_and_cancellation_is_exact() {
    let add = |left: &str, right: &str| parse(left).checked_add(&parse(right));
    assert_eq!(add("1E125", "1E-130"), Err(NumberError::TooManyDigits));
    assert_eq!(add("9E125", "9E125"), Err(NumberError::TooLarge));
    assert_eq!(add("1.1E-130", "-1E-130"), Err(NumberError::TooSmall));
    assert_eq!(add("1E38", "-1"), Ok(parse(&"9".repeat(38))));
    assert_eq!(add("1E38", "1"), Err(NumberError::TooManyDigits));
    assert_eq!(
        add("18E37", &format!("-{}", "9".repeat(38))),
        Ok(parse(&format!("8{}1", "0".repeat(36))))
    );
    assert_eq!(add("0.1", "0.2"), Ok(parse("0.3")));
}

#[test]
fn errors_quote_the_text() {
    let error = "1\"2".parse::<Number>().expect_err("it is not a number");
    assert_eq!(
        error.to_string(),
        "\"1\\\"2\" is not a number; write digits with an optional sign, point and exponent, such \
         as -12.5E3"
    );
}

proptest! {
    #![proptest_config(cases(8))]

    /// `quotient * divisor` differs from the dividend by at most half a unit of the sixteenth digit.
    #[test]
    fn quotients_are_rounded_to_sixteen_digits(
        dividend in -1_000_000_000_000_000_i64..1_000_000_000_000_000,
        divisor in 1_u64..1_000_000,
    ) {
        let quotient = Number::from(dividend).divided_by(divisor).expect("the divisor is not 0");
        prop_assert!(quotient.digits() <= 16);
        let (coefficient, exponent) = quotient.parts();
        // Both sides in units of 10^-24, far below the sixteenth digit.
        let scale = |power: i16| 10_i128.pow(u32::try_from(power).expect("a small power"));
        if dividend == 0 {
            prop_assert_eq!(quotient, Number::ZERO);
            return Ok(());
        }
        let first_digit = exponent + quotient.digits() as i16 - 1;
        let unit_exponent = first_digit - 15;
        let lowest = unit_exponent.min(0).min(exponent);
        let product = coefficient * i128::from(divisor) * scale(exponent - lowest);
        let exact = i128::from(dividend) * scale(-lowest);
        let half_units = i128::from(divisor) * scale(unit_exponent - lowest);
        prop_assert!((product - exact).abs() * 2 <= half_units, "{quotient}");
    }
}

#[test]
fn quotients_round_half_to_even() {
    let divide = |dividend: &str, divisor| parse(dividend).divided_by(divisor);
    assert_eq!(divide("10", 4), Some(parse("2.5")));
    assert_eq!(divide("1", 3), Some(parse("0.3333333333333333")));
    assert_eq!(divide("-2", 3), Some(parse("-0.6666666666666667")));
    assert_eq!(divide("10000000000000005", 10), Some(parse("1000000000000000")));
    assert_eq!(divide("10000000000000015", 10), Some(parse("1000000000000002")));
    assert_eq!(divide("10000000000000005.1", 10), Some(parse("1000000000000001")));
    assert_eq!(divide(&"9".repeat(38), u64::MAX), Some(parse("5421010862427522000")));
    assert_eq!(divide("1E-130", 3), Some(Number::ZERO));
    assert_eq!(divide("0", 7), Some(Number::ZERO));
    assert_eq!(divide("7", 0), None);
}

#[test]
fn the_floor_of_a_number_is_an_integer() {
    let cases = [
        ("0", Some(0)),
        ("1794768510.104", Some(1_794_768_510)),
        ("0.5", Some(0)),
        ("-0.5", Some(-1)),
        ("-7", Some(-7)),
        ("-7.01", Some(-8)),
        ("1E-130", Some(0)),
        ("-1E-130", Some(-1)),
        ("12E+3", Some(12_000)),
        ("9223372036854775807.9", Some(i64::MAX)),
        ("9223372036854775808", None),
        ("1E+125", None),
    ];
    for (text, expected) in cases {
        let number: Number = text.parse().unwrap();
        assert_eq!(number.floor_i64(), expected, "{text}");
    }
}
