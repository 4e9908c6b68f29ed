//! Exact sums of amounts, each scaled from the servings of its recipe. Rounded once, at the end: three
//! times a third of a kilogram is a kilogram.

use std::collections::BTreeMap;

use keyloom::Number;

/// Decimals of a total that needs rounding.
const DECIMALS: i16 = 6;

/// A sum of decimals times fractions. Parts with the same denominator are added as decimals, which is
/// exact; only the total divides.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    by_denominator: BTreeMap<i64, Number>,
}

impl Sum {
    /// Adds the amount of a recipe for `of` servings, scaled to `servings`. None if the sum has more digits
    /// than a number can hold.
    pub(crate) fn add(&mut self, amount: Number, servings: i64, of: i64) -> Option<()> {
        let shared = greatest_common_divisor(servings, of);
        let part = times(amount, i128::from(servings / shared))?;
        let sum = self.by_denominator.entry(of / shared).or_insert(Number::ZERO);
        *sum = sum.checked_add(&part).ok()?;
        Some(())
    }

    /// The sum. A quotient that needs more digits than the amounts is rounded half up to six decimals. None if it has more digits
    /// than a number can hold.
    pub(crate) fn total(&self) -> Option<Number> {
        let mut denominator: i64 = 1;
        for part in self.by_denominator.keys() {
            let shared = greatest_common_divisor(denominator, *part);
            denominator = (denominator / shared).checked_mul(*part)?;
        }
        let mut numerator = Number::ZERO;
        for (part, sum) in &self.by_denominator {
            let scaled = times(*sum, i128::from(denominator / part))?;
            numerator = numerator.checked_add(&scaled).ok()?;
        }
        divided(numerator, i128::from(denominator))
    }
}

fn times(number: Number, factor: i128) -> Option<Number> {
    let (coefficient, exponent) = number.parts();
    Number::from_parts(coefficient.checked_mul(factor)?, exponent).ok()
}

fn divided(number: Number, by: i128) -> Option<Number> {
    let (coefficient, exponent) = number.parts();
    if coefficient % by == 0 {
        return Number::from_parts(coefficient / by, exponent).ok();
    }
    let shift = (exponent + DECIMALS).max(0);
    let shifted = coefficient.checked_mul(10i128.checked_pow(u32::try_from(shift).ok()?)?)?;
    let rounded = (shifted.checked_add(by / 2)?).div_euclid(by);
    Number::from_parts(rounded, exponent - shift).ok()
}

fn greatest_common_divisor(left: i64, right: i64) -> i64 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    fn total(parts: &[(&str, i64, i64)]) -> Option<Number> {
        let mut sum = Sum::default();
        for (amount, servings, of) in parts {
            sum.add(number(amount), *servings, *of)?;
        }
        sum.total()
    }

    #[test]
    fn amounts_grow_with_servings() {
        for (amount, servings, of, expected) in [
            ("100", 4, 4, "100"),
            ("100", 2, 4, "50"),
            ("0.1", 3, 1, "0.3"),
            ("1", 1, 3, "0.333333"),
            ("2", 1, 3, "0.666667"),
            ("0.25", 6, 4, "0.375"),
            ("0", 5, 4, "0"),
            ("1e30", 1, 2, "5e29"),
            ("1e-100", 1, 3, "0"),
        ] {
            let found = total(&[(amount, servings, of)]);
            assert_eq!(found, Some(number(expected)), "{amount} {servings}/{of}");
        }
    }

    #[test]
    fn sums_are_rounded_once() {
        for (parts, expected) in [
            (&[("1", 1, 3); 3][..], "1"),
            (&[("1", 1, 3), ("1", 1, 6), ("1", 1, 2)], "1"),
            (&[("0.1", 1, 7), ("0.6", 1, 7)], "0.1"),
            (&[("1", 1, 3), ("1", 1, 3)], "0.666667"),
            (&[("2.5", 2, 6), ("2.5", 4, 6)], "2.5"),
        ] {
            assert_eq!(total(parts), Some(number(expected)), "{parts:?}");
        }
    }

    /// Compares with integer arithmetic: every part as a multiple of 1/2520 of a thousandth, added and
    /// rounded once.
    #[test]
    fn random_sums_equal_integer_arithmetic() {
        let mut state = 7u64;
        let mut draw = |end: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(state >> 33).unwrap() % end
        };
        for _ in 0..2000 {
            let count = draw(9) + 1;
            let parts: Vec<(i64, i64, i64)> =
                (0..count).map(|_| (draw(10_000), draw(12) + 1, draw(10) + 1)).collect();
            let mut sum = Sum::default();
            let mut whole = 0i128;
            for (thousandths, servings, of) in &parts {
                let amount = Number::from_parts(i128::from(*thousandths), -3).unwrap();
                sum.add(amount, *servings, *of).unwrap();
                // 2520 is the least common multiple of 1 to 10.
                whole += i128::from(thousandths * servings * (2520 / of));
            }
            // In millionths, half up.
            let expected = (whole * 1000 + 1260).div_euclid(2520);
            let expected = Number::from_parts(expected, -6).unwrap();
            assert_eq!(sum.total(), Some(expected), "{parts:?}");
        }
    }

    #[test]
    fn overflow_is_none() {
        let digits = "99999999999999999999999999999999999999";
        assert_eq!(total(&[(digits, 7, 3)]), None);
        let primes = [i64::MAX, i64::MAX - 24];
        assert_eq!(total(&primes.map(|of| ("1", 1, of))), None);
    }
}
