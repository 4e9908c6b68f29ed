//! Writes JSON strings.

use std::fmt::Write as _;

use crate::plain::plain_length;

/// Appends a string to JSON, quoted and escaped. O(n).
pub fn write_text(json: &mut String, text: &str) {
    json.reserve(text.len() + 2);
    json.push('"');
    let mut rest = text;
    loop {
        let (plain, escaped) = rest.split_at(plain_length(rest.as_bytes()));
        json.push_str(plain);
        let Some(byte) = escaped.bytes().next() else { break };
        write_escape(json, byte);
        rest = &escaped[1..];
    }
    json.push('"');
}

fn write_escape(json: &mut String, byte: u8) {
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
