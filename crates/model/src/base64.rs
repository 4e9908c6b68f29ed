//! Bytes as base64 text (RFC 4648): written in the standard alphabet with padding; read in the
//! standard and in the URL alphabet, with or without padding.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// The text of bytes. [`bytes`] reads it back.
pub(crate) fn text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a text, or nothing if it is not base64. Bits that belong to no byte must be zero,
/// so that a text that was cut short is not taken for a whole one; padding is all there or not at
/// all.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    if text.contains(['-', '_']) {
        return standard(&text.replace('-', "+").replace('_', "/"));
    }
    standard(text)
}

fn standard(text: &str) -> Option<Vec<u8>> {
    let engine = if text.ends_with('=') { STANDARD } else { STANDARD_NO_PAD };
    engine.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{bytes, text};

    #[test]
    fn the_published_examples_are_written_and_read() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in cases {
            assert_eq!(text(plain.as_bytes()), encoded);
            assert_eq!(bytes(encoded).as_deref(), Some(plain.as_bytes()));
            assert_eq!(bytes(encoded.trim_end_matches('=')).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(bytes("-_-_"), bytes("+/+/"));
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for wrong in ["Z", "Zg=", "Zg===", "=", "====", "Zm9v=", "Zm9vYg=a", "Z g=", "Zh==", "é"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn all_bytes_come_back(original in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(bytes(&text(&original)), Some(original));
        }
    }
}
