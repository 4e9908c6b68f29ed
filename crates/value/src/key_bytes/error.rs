//! Errors of encoding and decoding keys.

use crate::ValueType;

/// Why a value cannot be encoded, or bytes cannot be decoded.
///
/// All but the first two mean that the bytes are corrupt or were never a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyBytesError {
    /// The value has a type that cannot be part of a key.
    #[error("a value of type {found} cannot be part of a key; use S, N or B")]
    NotAKeyType {
        /// Its type.
        found: ValueType,
    },
    /// The value has a type without prefixes.
    #[error("no key begins with a value of type {found}; use S or B")]
    NotAPrefixType {
        /// Its type.
        found: ValueType,
    },
    /// The bytes end inside a part.
    #[error("the key is damaged: it ends inside a part")]
    Truncated,
    /// A part starts with an unknown byte.
    #[error("the key is damaged: no part starts with the byte {tag:02x}")]
    UnknownTag {
        /// The byte.
        tag: u8,
    },
    /// A zero byte is followed by an invalid byte.
    #[error("the key is damaged: the byte {byte:02x} follows a zero byte")]
    BadEscape {
        /// The byte.
        byte: u8,
    },
    /// A string is not UTF-8.
    #[error("the key is damaged: a text is not UTF-8")]
    NotUtf8,
    /// A number is not in canonical form.
    #[error("the key is damaged: a number is not in its only form")]
    BadNumber,
}
