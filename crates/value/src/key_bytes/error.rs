//! Why a value cannot be a key, or bytes are not one.

use std::fmt;

use crate::ValueType;

/// Why a value has no key bytes, or bytes are not a key.
///
/// All but the first two mean that the bytes were damaged or were never a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyBytesError {
    /// The value has a type that cannot be part of a key.
    NotAKeyType {
        /// Its type.
        found: ValueType,
    },
    /// The value has a type that no other value can begin with.
    NotAPrefixType {
        /// Its type.
        found: ValueType,
    },
    /// The bytes end inside a part.
    Truncated,
    /// A part starts with a byte that no part starts with.
    UnknownTag {
        /// The byte.
        tag: u8,
    },
    /// A zero byte is followed by one that never follows it.
    BadEscape {
        /// The byte.
        byte: u8,
    },
    /// A text is not UTF-8.
    NotUtf8,
    /// A number is not written in its only form.
    BadNumber,
}

impl fmt::Display for KeyBytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyBytesError::NotAKeyType { found } => {
                write!(f, "a value of type {found} cannot be part of a key; use S, N or B")
            }
            KeyBytesError::NotAPrefixType { found } => {
                write!(f, "no key begins with a value of type {found}; use S or B")
            }
            KeyBytesError::Truncated => f.write_str("the key is damaged: it ends inside a part"),
            KeyBytesError::UnknownTag { tag } => {
                write!(f, "the key is damaged: no part starts with the byte {tag:02x}")
            }
            KeyBytesError::BadEscape { byte } => {
                write!(f, "the key is damaged: the byte {byte:02x} follows a zero byte")
            }
            KeyBytesError::NotUtf8 => f.write_str("the key is damaged: a text is not UTF-8"),
            KeyBytesError::BadNumber => {
                f.write_str("the key is damaged: a number is not in its only form")
            }
        }
    }
}

impl std::error::Error for KeyBytesError {}
