//! Schoolbook decimal arithmetic: the reference that [`Number`] is checked against.

use std::cmp::Ordering;

use keyloom_value::{Number, NumberError};

/// All digits from 10^170 down to 10^-170, more than any sum of two numbers needs.
const PLACES: usize = 341;
/// The position of the ones digit.
const ONES: usize = 170;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: [u8; PLACES],
}

impl Decimal {
    pub(crate) fn from_parts(coefficient: i128, exponent: i16) -> Decimal {
        let written = coefficient.unsigned_abs().to_string();
        let mut digits = [0; PLACES];
        let last = ONES as i32 - i32::from(exponent);
        for (offset, digit) in written.bytes().rev().enumerate() {
            if digit != b'0' {
                digits[(last - offset as i32) as usize] = digit - b'0';
            }
        }
        Decimal { negative: coefficient < 0, digits }
    }

    pub(crate) fn negated(mut self) -> Decimal {
        self.negative = !self.negative && self.digits != [0; PLACES];
        self
    }

    pub(crate) fn compare(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.digits.cmp(&other.digits),
            (true, true) => other.digits.cmp(&self.digits),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }

    pub(crate) fn plus(&self, other: &Decimal) -> Decimal {
        if self.negative == other.negative {
            return Decimal { negative: self.negative, digits: sum(&self.digits, &other.digits) };
        }
        let (large, small) =
            if self.digits >= other.digits { (self, other) } else { (other, self) };
        let digits = difference(&large.digits, &small.digits);
        Decimal { negative: large.negative && digits != [0; PLACES], digits }
    }

    /// Converts to a number, with the limits as DynamoDB documents them.
    pub(crate) fn to_number(&self) -> Result<Number, NumberError> {
        let Some(first) = self.digits.iter().position(|&digit| digit != 0) else {
            return Ok(Number::ZERO);
        };
        let last = self.digits.iter().rposition(|&digit| digit != 0).unwrap_or(first);
        if last - first + 1 > 38 {
            return Err(NumberError::TooManyDigits);
        }
        let magnitude = ONES as i32 - first as i32;
        if magnitude > 125 {
            return Err(NumberError::TooLarge);
        }
        if magnitude < -130 {
            return Err(NumberError::TooSmall);
        }
        let coefficient =
            self.digits[first..=last].iter().fold(0, |sum, digit| sum * 10 + i128::from(*digit));
        let signed = if self.negative { -coefficient } else { coefficient };
        Number::from_parts(signed, (ONES as i32 - last as i32) as i16)
    }
}

impl From<&Number> for Decimal {
    fn from(number: &Number) -> Decimal {
        let (coefficient, exponent) = number.parts();
        Decimal::from_parts(coefficient, exponent)
    }
}

fn sum(left: &[u8; PLACES], right: &[u8; PLACES]) -> [u8; PLACES] {
    let mut digits = [0; PLACES];
    let mut carry = 0;
    for place in (0..PLACES).rev() {
        let total = left[place] + right[place] + carry;
        digits[place] = total % 10;
        carry = total / 10;
    }
    digits
}

fn difference(large: &[u8; PLACES], small: &[u8; PLACES]) -> [u8; PLACES] {
    let mut digits = [0; PLACES];
    let mut borrow = 0;
    for place in (0..PLACES).rev() {
        let taken = small[place] + borrow;
        borrow = u8::from(large[place] < taken);
        digits[place] = large[place] + 10 * borrow - taken;
    }
    digits
}
