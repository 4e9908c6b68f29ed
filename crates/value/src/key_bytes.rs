//! Key values as bytes: the only module that orders key bytes.
//!
//! A part is a tag and a value. Strings and bytes escape `00` and end in `00 01`, which sorts
//! before every possible continuation:
//!
//! ```text
//! S   02 | UTF-8 bytes, every 00 as 00 FF | 00 01
//! B   03 | bytes,       every 00 as 00 FF | 00 01
//! ```
//!
//! A number is its sign, the exponent of its first digit plus 130 in one byte, and its digits in
//! pairs, the last pair padded with a zero, each pair plus 1. In a negative number all bytes after
//! the sign are complemented (`~`), so that the larger magnitude sorts first:
//!
//! ```text
//! N   01 | 00 | ~(exponent + 130) | ~(pair + 1) ... | FF      negative
//!     01 | 01                                                 zero
//!     01 | 02 |   exponent + 130  |   pair + 1  ... | 00      positive
//!
//! 123.4 = 1.234E+2   01 02 84 0D 23 00
//! ```
//!
//! All tags are below `80`, which leaves the upper half for other content between keys. A part in
//! descending order has all its bytes complemented.

mod error;
mod number;

use crate::{Number, Value};

pub use error::KeyBytesError;

/// The encoded values of a key, one part after another.
///
/// Byte order equals value order, part by part (strings by UTF-8 bytes), for every input. No part is
/// a prefix of another part, so composite keys sort and decode unambiguously, whatever bytes the
/// values contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyBytes(Vec<u8>);

const TAG_NUMBER: u8 = 0x01;
const TAG_TEXT: u8 = 0x02;
const TAG_BYTES: u8 = 0x03;

const ESCAPE: u8 = 0x00;
/// After `ESCAPE`: the content has a zero byte here.
const ESCAPED_ZERO: u8 = 0xFF;
/// After `ESCAPE`: the content ends here.
const ESCAPED_END: u8 = 0x01;

impl KeyBytes {
    /// Creates a key without parts.
    pub fn new() -> KeyBytes {
        KeyBytes::default()
    }

    /// Creates a key without parts, with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> KeyBytes {
        KeyBytes(Vec::with_capacity(bytes))
    }

    /// Appends a string.
    pub fn push_text(&mut self, text: &str) {
        self.push_whole(TAG_TEXT, text.as_bytes());
    }

    /// Appends a part.
    ///
    /// # Errors
    ///
    /// If the value is not a string, a number or bytes. Nothing is appended then.
    pub fn push(&mut self, value: &Value) -> Result<(), KeyBytesError> {
        match key_content(value) {
            Some(Content::Number(number)) => {
                self.0.reserve(1 + number::LEN_MAX);
                self.0.push(TAG_NUMBER);
                number::encode(number, &mut self.0);
            }
            Some(Content::Bytes { tag, bytes }) => self.push_whole(tag, bytes),
            None => {
                return Err(KeyBytesError::NotAKeyType { found: value.value_type() });
            }
        }
        Ok(())
    }

    /// Appends a part in descending order: the greater value sorts first. No part is a prefix of
    /// another, so complementing all bytes reverses the order and preserves every other property.
    /// Such parts can be compared and skipped, but not decoded.
    ///
    /// # Errors
    ///
    /// As [`KeyBytes::push`].
    pub fn push_descending(&mut self, value: &Value) -> Result<(), KeyBytesError> {
        let start = self.0.len();
        self.push(value)?;
        for byte in &mut self.0[start..] {
            *byte = !*byte;
        }
        Ok(())
    }

    /// Appends a prefix of a part: the result is a prefix of exactly those keys that have a string
    /// or bytes here that begin with the value. It bounds a range and cannot be decoded.
    ///
    /// # Errors
    ///
    /// If the value is neither a string nor bytes. Nothing is appended then.
    pub fn push_prefix(&mut self, value: &Value) -> Result<(), KeyBytesError> {
        match key_content(value) {
            Some(Content::Bytes { tag, bytes }) => {
                self.push_content(tag, bytes, 0);
                Ok(())
            }
            Some(Content::Number(_)) | None => {
                Err(KeyBytesError::NotAPrefixType { found: value.value_type() })
            }
        }
    }

    /// Appends the parts of another key.
    pub fn append(&mut self, other: &KeyBytes) {
        self.0.extend_from_slice(&other.0);
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes, without copying.
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }

    /// Decodes all parts.
    ///
    /// # Errors
    ///
    /// If the bytes are not exactly what [`KeyBytes::push`] writes for some values.
    pub fn decode(bytes: &[u8]) -> Result<Vec<Value>, KeyBytesError> {
        let mut values = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (value, after) = KeyBytes::decode_part(rest)?;
            values.push(value);
            rest = after;
        }
        Ok(values)
    }

    /// Decodes the first part; returns its value and the bytes after it.
    ///
    /// # Errors
    ///
    /// If the bytes do not start with exactly what [`KeyBytes::push`] writes for some value.
    pub fn decode_part(bytes: &[u8]) -> Result<(Value, &[u8]), KeyBytesError> {
        let (&tag, content) = bytes.split_first().ok_or(KeyBytesError::Truncated)?;
        match tag {
            TAG_NUMBER => {
                let (number, rest) = number::decode(content)?;
                Ok((Value::N(number), rest))
            }
            TAG_TEXT => {
                let (text, rest) = decode_content(content)?;
                let text = String::from_utf8(text).map_err(|_| KeyBytesError::NotUtf8)?;
                Ok((Value::S(text), rest))
            }
            TAG_BYTES => {
                let (bytes, rest) = decode_content(content)?;
                Ok((Value::B(bytes), rest))
            }
            _ => Err(KeyBytesError::UnknownTag { tag }),
        }
    }

    /// Returns the bytes after the first part, without decoding it. Only its end is checked: a
    /// skipped part may still fail to decode.
    ///
    /// # Errors
    ///
    /// If the first part has no end.
    pub fn skip_part(bytes: &[u8]) -> Result<&[u8], KeyBytesError> {
        let (&tag, content) = bytes.split_first().ok_or(KeyBytesError::Truncated)?;
        match tag {
            TAG_NUMBER => number::skip(content),
            TAG_TEXT | TAG_BYTES => read_content(content, |_| {}),
            _ => Err(KeyBytesError::UnknownTag { tag }),
        }
    }

    /// Returns the bytes after a first part written by [`KeyBytes::push_descending`].
    ///
    /// # Errors
    ///
    /// If the first part has no end.
    pub fn skip_descending(bytes: &[u8]) -> Result<&[u8], KeyBytesError> {
        let complemented: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let left = KeyBytes::skip_part(&complemented)?.len();
        Ok(&bytes[bytes.len() - left..])
    }

    /// Returns the exclusive end of the range of a prefix: the smallest bytes greater than everything
    /// that starts with it. `None` if the prefix is empty or all `FF`.
    pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
        let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
        let mut after = prefix[..=last].to_vec();
        after[last] += 1;
        Some(after)
    }

    /// Returns a bound just before a key whose last part is a string or bytes: all smaller keys are
    /// less than it, the key and all greater ones are greater. It is the key without its last byte;
    /// no part contains `00 00`, so no key lies between.
    pub fn before(key: &[u8]) -> &[u8] {
        key.split_last().map_or(key, |(_, before)| before)
    }

    fn push_whole(&mut self, tag: u8, bytes: &[u8]) {
        self.push_content(tag, bytes, 2);
        self.0.extend_from_slice(&[ESCAPE, ESCAPED_END]);
    }

    /// Appends the tag and the escaped bytes, with room for what follows.
    fn push_content(&mut self, tag: u8, bytes: &[u8], room: usize) {
        self.0.reserve(1 + bytes.len() + room);
        self.0.push(tag);
        let mut rest = bytes;
        while let Some(zero) = position_of_zero(rest) {
            self.0.extend_from_slice(&rest[..zero]);
            self.0.extend_from_slice(&[ESCAPE, ESCAPED_ZERO]);
            rest = &rest[zero + 1..];
        }
        self.0.extend_from_slice(rest);
    }
}

impl AsRef<[u8]> for KeyBytes {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Initial capacity for a decoded string or bytes; few are longer.
const CONTENT_BYTES_USUAL: usize = 64;

/// The content of a key part.
enum Content<'a> {
    Number(&'a Number),
    Bytes { tag: u8, bytes: &'a [u8] },
}

fn key_content(value: &Value) -> Option<Content<'_>> {
    match value {
        Value::N(number) => Some(Content::Number(number)),
        Value::S(text) => Some(Content::Bytes { tag: TAG_TEXT, bytes: text.as_bytes() }),
        Value::B(bytes) => Some(Content::Bytes { tag: TAG_BYTES, bytes }),
        Value::Bool(_)
        | Value::Null
        | Value::L(_)
        | Value::M(_)
        | Value::Ss(_)
        | Value::Ns(_)
        | Value::Bs(_) => None,
    }
}

fn decode_content(bytes: &[u8]) -> Result<(Vec<u8>, &[u8]), KeyBytesError> {
    let mut content = Vec::with_capacity(bytes.len().min(CONTENT_BYTES_USUAL));
    let rest = read_content(bytes, |piece| content.extend_from_slice(piece))?;
    Ok((content, rest))
}

/// Passes the content of a string or bytes to `visit`, piece by piece; returns the bytes after its
/// end.
fn read_content(bytes: &[u8], mut visit: impl FnMut(&[u8])) -> Result<&[u8], KeyBytesError> {
    let mut rest = bytes;
    loop {
        let escape = position_of_zero(rest).ok_or(KeyBytesError::Truncated)?;
        let (piece, escaped) = rest.split_at(escape);
        visit(piece);
        match escaped {
            [_, ESCAPED_END, after @ ..] => return Ok(after),
            [_, ESCAPED_ZERO, after @ ..] => {
                visit(&[0]);
                rest = after;
            }
            [_, byte, ..] => return Err(KeyBytesError::BadEscape { byte: *byte }),
            _ => return Err(KeyBytesError::Truncated),
        }
    }
}

/// Finds the first zero byte, eight bytes at a time: hardly any key has one before its end.
fn position_of_zero(bytes: &[u8]) -> Option<usize> {
    const LOW_BITS: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH_BITS: u64 = u64::from_ne_bytes([0x80; 8]);
    let (words, tail) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // Taking 1 from every byte sets the high bit of zeros, and of bytes that had it already.
        // A borrow can set it in a later byte too, but never before the first zero.
        let zeros = word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS;
        if zeros != 0 {
            return Some(index * 8 + zeros.trailing_zeros() as usize / 8);
        }
    }
    let position = tail.iter().position(|&byte| byte == 0)?;
    Some(words.len() * 8 + position)
}
