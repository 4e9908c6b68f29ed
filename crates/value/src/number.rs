//! Exact decimal numbers of up to 38 significant digits.

mod error;
mod text;

use std::cmp::Ordering;
use std::fmt;

pub use error::NumberError;

/// A decimal number: `coefficient * 10^exponent`, canonical (no trailing zero in the coefficient,
/// zero has exponent 0), of at most 38 digits, its magnitude 0 or from 1E-130 to 9.99…E+125.
///
/// Canonical form makes the derived `Eq` and `Hash` numeric: `1`, `1.0` and `10E-1` are one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    // An `i128` would be aligned to 16 bytes and make every `Value` 48 bytes instead of 32, so the
    // coefficient is kept in two halves.
    coefficient_high: i64,
    coefficient_low: u64,
    exponent: i16,
}

/// The most significant digits of a number.
const DIGITS_MAX: u32 = 38;
/// The significant digits of a quotient.
const QUOTIENT_DIGITS: u32 = 16;
/// The exponent of the first digit of the largest magnitude.
const SCIENTIFIC_MAX: i64 = 125;
/// The exponent of the first digit of the smallest magnitude.
const SCIENTIFIC_MIN: i64 = -130;

/// The sign of a number; zero counts as positive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Negative,
    Positive,
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number::canonical(0, 0);

    /// Returns `coefficient * 10^exponent`.
    ///
    /// # Errors
    ///
    /// If it has more than 38 significant digits, or its magnitude is out of range.
    pub fn from_parts(coefficient: i128, exponent: i16) -> Result<Number, NumberError> {
        let sign = if coefficient < 0 { Sign::Negative } else { Sign::Positive };
        Number::from_magnitude(sign, coefficient.unsigned_abs(), i64::from(exponent))
    }

    /// Returns the canonical coefficient and exponent: the number is `coefficient * 10^exponent`, the
    /// coefficient ends in no zero, and zero is `(0, 0)`.
    pub fn parts(&self) -> (i128, i16) {
        (self.coefficient(), self.exponent)
    }

    /// Returns the number of significant digits, from 1 to 38; zero has none.
    pub fn digits(&self) -> u32 {
        let magnitude = self.magnitude();
        // The 64-bit logarithm uses a table, the 128-bit one divisions.
        let log = match u64::try_from(magnitude) {
            Ok(small) => small.checked_ilog10(),
            Err(_) => magnitude.checked_ilog10(),
        };
        log.map_or(0, |log| log + 1)
    }

    /// Returns the number as an integer, if it is one and fits.
    pub fn to_i64(&self) -> Option<i64> {
        let scale = 10_i128.checked_pow(u32::try_from(self.exponent).ok()?)?;
        i64::try_from(self.coefficient().checked_mul(scale)?).ok()
    }

    /// Returns the greatest integer that is not above the number, if it fits.
    pub fn floor_i64(&self) -> Option<i64> {
        let Ok(below) = u32::try_from(-i32::from(self.exponent)) else { return self.to_i64() };
        // A larger divisor than that leaves nothing: a coefficient has at most 38 digits.
        let floor = match 10_i128.checked_pow(below) {
            Some(divisor) => self.coefficient().div_euclid(divisor),
            None if self.coefficient() < 0 => -1,
            None => 0,
        };
        i64::try_from(floor).ok()
    }

    /// Returns the exact sum.
    ///
    /// # Errors
    ///
    /// If the sum has more than 38 significant digits or is out of range. It is never rounded.
    pub fn checked_add(&self, other: &Number) -> Result<Number, NumberError> {
        let (coarse, fine) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        if coarse.coefficient() == 0 {
            return Ok(*fine);
        }
        if fine.coefficient() == 0 {
            return Ok(*coarse);
        }
        // The last digit of `fine` is not zero and stays the last digit of the sum, unless both
        // exponents are equal. So a `coarse` that does not fit 128 bits at the scale of `fine`
        // leaves more than 38 digits, whatever is taken from it.
        let scale = 10_u128.checked_pow(u32::from(coarse.exponent.abs_diff(fine.exponent)));
        let large = scale
            .and_then(|scale| coarse.magnitude().checked_mul(scale))
            .ok_or(NumberError::TooManyDigits)?;
        let small = fine.magnitude();
        let (sign, magnitude) = if coarse.sign() == fine.sign() {
            (coarse.sign(), large.checked_add(small).ok_or(NumberError::TooManyDigits)?)
        } else if large >= small {
            (coarse.sign(), large - small)
        } else {
            (fine.sign(), small - large)
        };
        Number::from_magnitude(sign, magnitude, i64::from(fine.exponent))
    }

    /// Returns the exact difference.
    ///
    /// # Errors
    ///
    /// If the difference has more than 38 significant digits or is out of range. It is never
    /// rounded.
    pub fn checked_sub(&self, other: &Number) -> Result<Number, NumberError> {
        self.checked_add(&Number::canonical(-other.coefficient(), other.exponent))
    }

    /// Returns the quotient, rounded half to even to 16 significant digits; `None` for a divisor of 0.
    pub fn divided_by(&self, divisor: u64) -> Option<Number> {
        let divisor = u128::from(divisor);
        // With 38 digits the dividend has at least 18 more than any divisor, so the quotient has some to
        // cut off.
        let more = DIGITS_MAX - self.digits();
        let dividend = self.magnitude().checked_mul(10_u128.checked_pow(more)?)?;
        let quotient = dividend.checked_div(divisor)?;
        let cut =
            quotient.checked_ilog10().map_or(0, |log| (log + 1).saturating_sub(QUOTIENT_DIGITS));
        let unit = 10_u128.checked_pow(cut)?;
        let (kept, rest) = (quotient / unit, quotient % unit);
        // What is cut off, in halves of the last digit: below, exactly, or above one half.
        let has_remainder = dividend % divisor != 0;
        let is_above = match (rest * 2).cmp(&unit) {
            Ordering::Less => false,
            Ordering::Equal => has_remainder || kept % 2 == 1,
            Ordering::Greater => true,
        };
        let exponent = i64::from(self.exponent) - i64::from(more) + i64::from(cut);
        let rounded = kept + u128::from(is_above);
        match Number::from_magnitude(self.sign(), rounded, exponent) {
            Err(NumberError::TooSmall) => Some(Number::ZERO),
            rounded => rounded.ok(),
        }
    }

    /// Returns the canonical number of a sign and a magnitude, `magnitude * 10^exponent`.
    pub(crate) fn from_magnitude(
        sign: Sign,
        magnitude: u128,
        exponent: i64,
    ) -> Result<Number, NumberError> {
        if magnitude == 0 {
            return Ok(Number::ZERO);
        }
        let (magnitude, zeros) = trim_zeros(magnitude);
        let exponent = exponent.saturating_add(i64::from(zeros));
        let digits = magnitude.ilog10() + 1;
        if digits > DIGITS_MAX {
            return Err(NumberError::TooManyDigits);
        }
        let scientific = exponent.saturating_add(i64::from(digits) - 1);
        if scientific > SCIENTIFIC_MAX {
            return Err(NumberError::TooLarge);
        }
        if scientific < SCIENTIFIC_MIN {
            return Err(NumberError::TooSmall);
        }
        // The checks above keep both casts exact: 38 digits fit 127 bits.
        let coefficient = match sign {
            Sign::Negative => -(magnitude as i128),
            Sign::Positive => magnitude as i128,
        };
        Ok(Number::canonical(coefficient, exponent as i16))
    }

    /// Returns the exponent of the first significant digit: 2 for 123, -1 for 0.5, 0 for zero.
    pub(crate) fn scientific_exponent(&self) -> i32 {
        i32::from(self.exponent) + self.digits().saturating_sub(1) as i32
    }

    pub(crate) fn magnitude(&self) -> u128 {
        self.coefficient().unsigned_abs()
    }

    pub(crate) fn sign(&self) -> Sign {
        if self.coefficient_high < 0 { Sign::Negative } else { Sign::Positive }
    }

    fn coefficient(&self) -> i128 {
        (i128::from(self.coefficient_high) << 64) | i128::from(self.coefficient_low)
    }

    /// Builds a number from a coefficient that is already canonical.
    const fn canonical(coefficient: i128, exponent: i16) -> Number {
        Number {
            coefficient_high: (coefficient >> 64) as i64,
            coefficient_low: coefficient as u64,
            exponent,
        }
    }
}

/// Removes and counts the trailing zeros of a magnitude other than zero.
fn trim_zeros(mut magnitude: u128) -> (u128, u8) {
    let mut zeros = 0;
    while magnitude > u128::from(u64::MAX) && magnitude.is_multiple_of(10) {
        magnitude /= 10;
        zeros += 1;
    }
    // Most numbers are small, and dividing 64 bits is several times faster than 128.
    if let Ok(mut small) = u64::try_from(magnitude) {
        while small.is_multiple_of(10) {
            small /= 10;
            zeros += 1;
        }
        magnitude = u128::from(small);
    }
    (magnitude, zeros)
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let (left, right) = (self.coefficient(), other.coefficient());
        if self.exponent == other.exponent {
            return left.cmp(&right);
        }
        left.signum().cmp(&right.signum()).then_with(|| match self.sign() {
            Sign::Negative => compare_magnitudes(other, self),
            Sign::Positive => compare_magnitudes(self, other),
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn compare_magnitudes(left: &Number, right: &Number) -> Ordering {
    left.scientific_exponent().cmp(&right.scientific_exponent()).then_with(|| {
        // Their first digits have the same weight, so scaling the one with fewer digits makes it
        // no longer than the other: 38 digits at most.
        let scale = 10_u128.saturating_pow(u32::from(left.exponent.abs_diff(right.exponent)));
        if left.exponent > right.exponent {
            left.magnitude().saturating_mul(scale).cmp(&right.magnitude())
        } else {
            left.magnitude().cmp(&right.magnitude().saturating_mul(scale))
        }
    })
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Number {
        let magnitude = Number::from(integer.unsigned_abs());
        let coefficient = magnitude.coefficient() * i128::from(integer.signum());
        Number::canonical(coefficient, magnitude.exponent)
    }
}

impl From<u64> for Number {
    fn from(integer: u64) -> Number {
        if integer == 0 {
            return Number::ZERO;
        }
        let (magnitude, zeros) = trim_zeros(u128::from(integer));
        Number::canonical(magnitude as i128, i16::from(zeros))
    }
}

impl From<i32> for Number {
    fn from(integer: i32) -> Number {
        Number::from(i64::from(integer))
    }
}

impl From<u32> for Number {
    fn from(integer: u32) -> Number {
        Number::from(u64::from(integer))
    }
}
