//! Errors of numbers.

use crate::display::Quoted;

/// Why a text or a result is not a valid number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NumberError {
    /// The text is not a number.
    #[error("{} is not a number; write digits with an optional sign, point and exponent, \
         such as -12.5E3", Quoted::text(.text))]
    Malformed {
        /// The text.
        text: String,
    },
    /// There are more than 38 significant digits. Numbers are never rounded.
    #[error("the number has more than 38 significant digits; round it to 38 or fewer")]
    TooManyDigits,
    /// The magnitude is over 9.99…E+125.
    #[error("the number is too large; its magnitude must be less than 1E+126")]
    TooLarge,
    /// The magnitude is under 1E-130 and not zero.
    #[error("the number is too close to zero; its magnitude must be 0 or at least 1E-130")]
    TooSmall,
}
