//! Bytes as base64 text (RFC 4648): written in the standard alphabet with padding; read in the
//! standard and in the URL alphabet, with or without padding.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of bytes. [`bytes`] reads it back.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        let group = group << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = STANDARD[(group >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// The bytes of a text, or nothing if it is not base64. Bits that belong to no byte must be zero,
/// so that a text that was cut short is not taken for a whole one.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let letters = unpadded(text)?;
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for chunk in letters.as_bytes().chunks(4) {
        let sextets = chunk.iter().try_fold(0, |group, letter| Some(group << 6 | sextet(*letter)?));
        let group: u32 = sextets? << (6 * (4 - chunk.len()));
        let [_, first, second, third] = group.to_be_bytes();
        let rest: &[u8] = match chunk.len() {
            4 => &[],
            3 => &[third],
            2 => &[second, third],
            _ => return None,
        };
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(&[first, second, third][..3 - rest.len()]);
    }
    Some(bytes)
}

/// The text without its padding, which must fill the last group of four if there is any.
fn unpadded(text: &str) -> Option<&str> {
    let letters = text.trim_end_matches('=');
    let is_right = match text.len() - letters.len() {
        0 => true,
        1 | 2 => text.len().is_multiple_of(4),
        _ => false,
    };
    is_right.then_some(letters)
}

fn sextet(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
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
