//! Writes JSON strings.

use std::fmt::Write as _;

/// Appends a string to JSON, quoted and escaped. O(n).
pub fn write_text(json: &mut String, text: &str) {
    json.push('"');
    let mut plain_start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !matches!(byte, b'"' | b'\\' | 0..=0x1F) {
            continue;
        }
        // All escaped characters are ASCII: one byte, at the start of a character.
        json.push_str(&text[plain_start..at]);
        plain_start = at + 1;
        match byte {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            control => {
                let written = write!(json, "\\u{control:04x}");
                debug_assert!(written.is_ok(), "writing to a string cannot fail");
            }
        }
    }
    json.push_str(&text[plain_start..]);
    json.push('"');
}
