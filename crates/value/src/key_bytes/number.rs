//! Encoding of numbers in keys, after the tag.

use super::KeyBytesError;
use crate::Number;
use crate::number::Sign;

const NEGATIVE: u8 = 0x00;
const ZERO: u8 = 0x01;
const POSITIVE: u8 = 0x02;

const EXPONENT_BIAS: i32 = 130;
const END: u8 = 0x00;
const PAIRS_MAX: usize = 19;
/// The sign, the exponent, the pairs and the end.
pub(super) const LEN_MAX: usize = 2 + PAIRS_MAX + 1;

/// Appends the sign and, except for zero, the exponent, the pairs of digits and the end.
pub(super) fn encode(number: &Number, bytes: &mut Vec<u8>) {
    if *number == Number::ZERO {
        bytes.push(ZERO);
        return;
    }
    let (sign, mask) = match number.sign() {
        Sign::Negative => (NEGATIVE, 0xFF),
        Sign::Positive => (POSITIVE, 0x00),
    };
    // The range of exponents, -130 to 125, is exactly that of a byte.
    let exponent = (number.scientific_exponent() + EXPONENT_BIAS) as u8;
    let (pairs, count) = pairs(number);
    bytes.extend_from_slice(&[sign, exponent ^ mask]);
    bytes.extend(pairs[PAIRS_MAX - count..].iter().map(|pair| (pair + 1) ^ mask));
    bytes.push(END ^ mask);
}

/// Returns the pairs of digits, right-aligned in the array, and their number.
fn pairs(number: &Number) -> ([u8; PAIRS_MAX], usize) {
    let digits = number.digits();
    let mut magnitude = number.magnitude();
    if digits % 2 == 1 {
        magnitude *= 10;
    }
    let count = digits.div_ceil(2) as usize;
    let mut pairs = [0; PAIRS_MAX];
    let mut places = pairs[PAIRS_MAX - count..].iter_mut().rev();
    // 128-bit division is slow, so long numbers are first split into parts of 64 bits.
    const NINE_PAIRS: u128 = 10_u128.pow(18);
    while magnitude > u128::from(u64::MAX) {
        let mut low = (magnitude % NINE_PAIRS) as u64;
        magnitude /= NINE_PAIRS;
        for place in places.by_ref().take(9) {
            *place = (low % 100) as u8;
            low /= 100;
        }
    }
    let mut high = magnitude as u64;
    for place in places {
        *place = (high % 100) as u8;
        high /= 100;
    }
    (pairs, count)
}

/// Decodes a number; returns it and the bytes after it.
pub(super) fn decode(bytes: &[u8]) -> Result<(Number, &[u8]), KeyBytesError> {
    match split(bytes)? {
        (None, rest) => Ok((Number::ZERO, rest)),
        (Some(encoded), rest) => Ok((encoded.number().ok_or(KeyBytesError::BadNumber)?, rest)),
    }
}

/// Returns the bytes after the number.
pub(super) fn skip(bytes: &[u8]) -> Result<&[u8], KeyBytesError> {
    split(bytes).map(|(_, rest)| rest)
}

/// The encoded parts of a number other than zero.
struct Encoded<'a> {
    sign: Sign,
    /// XOR mask of the exponent and the pairs.
    mask: u8,
    exponent: u8,
    pairs: &'a [u8],
}

impl Encoded<'_> {
    /// Returns the number, if this is its only valid encoding.
    fn number(&self) -> Option<Number> {
        if self.pairs.len() > PAIRS_MAX {
            return None;
        }
        let mut magnitude = 0_u128;
        for byte in self.pairs {
            let pair = (byte ^ self.mask).wrapping_sub(1);
            if pair > 99 {
                return None;
            }
            magnitude = magnitude * 100 + u128::from(pair);
        }
        // A leading zero, or a last pair of zeros, would give a number two encodings.
        let places = 2 * self.pairs.len();
        let magnitude_min = 10_u128.pow(places.saturating_sub(1) as u32);
        if magnitude < magnitude_min || magnitude.is_multiple_of(100) {
            return None;
        }
        let first = i64::from(self.exponent ^ self.mask) - i64::from(EXPONENT_BIAS);
        Number::from_magnitude(self.sign, magnitude, first - (places as i64 - 1)).ok()
    }
}

/// Splits a number from the bytes after it. Zero is only a sign, so it has no other parts.
fn split(bytes: &[u8]) -> Result<(Option<Encoded<'_>>, &[u8]), KeyBytesError> {
    let (sign, mask, after_sign) = match bytes {
        [ZERO, rest @ ..] => return Ok((None, rest)),
        [NEGATIVE, rest @ ..] => (Sign::Negative, 0xFF, rest),
        [POSITIVE, rest @ ..] => (Sign::Positive, 0x00, rest),
        [_, ..] => return Err(KeyBytesError::BadNumber),
        [] => return Err(KeyBytesError::Truncated),
    };
    let (&exponent, after_exponent) = after_sign.split_first().ok_or(KeyBytesError::Truncated)?;
    let end = after_exponent.iter().position(|&byte| byte == END ^ mask);
    let (pairs, end) = after_exponent.split_at(end.ok_or(KeyBytesError::Truncated)?);
    Ok((Some(Encoded { sign, mask, exponent, pairs }), &end[1..]))
}
