//! Base64 (RFC 4648): encodes in the standard alphabet with padding; decodes the standard and the
//! URL alphabet, with or without padding.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns `None` if the text is not base64. Trailing bits must be zero, so that a truncated text
/// is not mistaken for a complete one; padding must be complete or absent.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    if text.contains(['-', '_']) {
        return decode_standard(&text.replace('-', "+").replace('_', "/"));
    }
    decode_standard(text)
}

fn decode_standard(text: &str) -> Option<Vec<u8>> {
    let engine = if text.ends_with('=') { STANDARD } else { STANDARD_NO_PAD };
    engine.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{decode, encode};

    #[test]
    fn the_examples_of_the_rfc_are_encoded_and_decoded() {
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
            assert_eq!(encode(plain.as_bytes()), encoded);
            assert_eq!(decode(encoded).as_deref(), Some(plain.as_bytes()));
            assert_eq!(decode(encoded.trim_end_matches('=')).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(decode("-_-_"), decode("+/+/"));
    }

    #[test]
    fn invalid_texts_are_refused() {
        for invalid in ["Z", "Zg=", "Zg===", "=", "====", "Zm9v=", "Zm9vYg=a", "Z g=", "Zh==", "é"]
        {
            assert_eq!(decode(invalid), None, "{invalid}");
        }
    }

    proptest! {
        #[test]
        fn bytes_round_trip(original in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(decode(&encode(&original)), Some(original));
        }
    }
}
