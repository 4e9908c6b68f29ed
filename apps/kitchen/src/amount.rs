//! Amounts for more or fewer people than a recipe is for.

use keyloom::Number;

/// Digits after the point where a division does not end.
const DECIMALS: i16 = 6;

/// An amount for so many servings, of a recipe that is for `of`; exact where it can be, and
/// otherwise rounded to six decimals. None if it has more digits than a number can.
pub(crate) fn for_servings(amount: Number, servings: i64, of: i64) -> Option<Number> {
    if servings == of {
        return Some(amount);
    }
    let (coefficient, exponent) = amount.parts();
    // Three times as many of 0.1 are 0.3: what divides evenly is not rounded.
    let shared = greatest_common_divisor(servings, of);
    let (servings, of) = (i128::from(servings / shared), i128::from(of / shared));
    let times = coefficient.checked_mul(servings)?;
    if times % of == 0 {
        return Number::from_parts(times / of, exponent).ok();
    }
    let shift = (exponent + DECIMALS).max(0);
    let shifted = times.checked_mul(10i128.checked_pow(u32::try_from(shift).ok()?)?)?;
    let rounded = (shifted.checked_add(of / 2)?).div_euclid(of);
    Number::from_parts(rounded, exponent - shift).ok()
}

fn greatest_common_divisor(left: i64, right: i64) -> i64 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let number = |text: &str| text.parse::<Number>().unwrap();
            let found = for_servings(number(amount), servings, of).map(|number| number.to_string());
            assert_eq!(found, Some(number(expected).to_string()), "{amount} {servings}/{of}");
        }
    }

    #[test]
    fn what_does_not_fit_is_no_amount() {
        let digits: Number = "99999999999999999999999999999999999999".parse().unwrap();
        assert_eq!(for_servings(digits, 7, 3), None);
    }
}
