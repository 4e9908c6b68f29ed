//! Text form of numbers: parsed in every form DynamoDB accepts, printed in plain digits.
//!
//! ```text
//! number   ::= sign? mantissa exponent?
//! mantissa ::= digit+ ("." digit*)? | "." digit+
//! exponent ::= ("e" | "E") sign? digit+
//! sign     ::= "+" | "-"
//! ```

use std::fmt;
use std::str::FromStr;

use super::{DIGITS_MAX, Number, NumberError, Sign};

impl FromStr for Number {
    type Err = NumberError;

    /// Parses a text of any length in O(n).
    fn from_str(text: &str) -> Result<Number, NumberError> {
        let malformed = || NumberError::Malformed { text: text.to_owned() };
        let (sign, unsigned) = split_sign(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, parse_exponent(exponent).ok_or_else(malformed)?)
            }
            None => (unsigned, 0),
        };
        let mantissa = Mantissa::parse(mantissa).ok_or_else(malformed)?;
        let magnitude = mantissa.magnitude.ok_or(NumberError::TooManyDigits)?;
        let exponent = exponent.saturating_add(mantissa.exponent);
        Number::from_magnitude(sign, magnitude, exponent)
    }
}

impl fmt::Display for Number {
    /// Writes plain digits without an exponent, as DynamoDB does: `100`, `-0.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sign() == Sign::Negative {
            f.write_str("-")?;
        }
        if self.exponent == 0 {
            return write!(f, "{}", self.magnitude());
        }
        let digits = self.magnitude().to_string();
        let places = usize::from(self.exponent.unsigned_abs());
        if self.exponent > 0 {
            let width = digits.len() + places;
            return write!(f, "{digits:0<width$}");
        }
        match digits.len().checked_sub(places) {
            Some(whole) if whole > 0 => {
                let (whole, fraction) = digits.split_at(whole);
                write!(f, "{whole}.{fraction}")
            }
            _ => write!(f, "0.{digits:0>places$}"),
        }
    }
}

/// The part before the exponent: `magnitude * 10^exponent`.
struct Mantissa {
    /// `None` if there are more than 38 significant digits.
    magnitude: Option<u128>,
    exponent: i64,
}

/// This many digits and a point fit 64 bits, whatever the digits.
const SHORT_LEN: usize = 19;

impl Mantissa {
    fn parse(text: &str) -> Option<Mantissa> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.bytes().chain(fraction.bytes());
        if whole.len() + fraction.len() == 0 || !digits.clone().all(|it| it.is_ascii_digit()) {
            return None;
        }
        let exponent = -i64::try_from(fraction.len()).ok()?;
        // Most numbers are short and need neither a copy nor 128-bit arithmetic.
        if text.len() <= SHORT_LEN {
            let magnitude = digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            return Some(Mantissa { magnitude: Some(u128::from(magnitude)), exponent });
        }
        let digits = [whole, fraction].concat();
        let from_first = digits.trim_start_matches('0');
        let significant = from_first.trim_end_matches('0');
        let zeros = i64::try_from(from_first.len() - significant.len()).ok()?;
        Some(Mantissa { magnitude: magnitude(significant), exponent: exponent + zeros })
    }
}

fn magnitude(digits: &str) -> Option<u128> {
    (digits.len() <= DIGITS_MAX as usize)
        .then(|| digits.bytes().fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0')))
}

fn split_sign(text: &str) -> (Sign, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (Sign::Negative, rest),
        None => (Sign::Positive, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Parses an exponent; one beyond 64 bits saturates, which is out of range either way.
fn parse_exponent(text: &str) -> Option<i64> {
    let (sign, digits) = split_sign(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits
        .bytes()
        .fold(0_i64, |sum, byte| sum.saturating_mul(10).saturating_add(i64::from(byte - b'0')));
    Some(match sign {
        Sign::Negative => -magnitude,
        Sign::Positive => magnitude,
    })
}
