//! Strings, which are scanned in chunks: whatever their length, and wherever something is escaped.

use keyloom_json::{Limits, Reader, Token, write_text};
use proptest::prelude::*;

const LIMITS: Limits = Limits { depth: 1, values: 1 };
/// More than two chunks.
const LENGTH_MAX: usize = 70;

/// Writes a string, and asserts that serde_json and the reader read it again.
fn assert_survives(text: &str) {
    let mut json = String::new();
    write_text(&mut json, text);
    assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text, "{json}");
    let token = Reader::new(&json, LIMITS).value("a string").unwrap();
    assert_eq!(token, Token::Text(text.into()), "{json}");
}

#[test]
fn a_string_survives_with_each_escape_at_each_position() {
    let escaped = (0..0x20).chain([b'"', b'\\']).map(char::from);
    for character in escaped.chain(['\u{7f}', 'ä', '\u{1f600}']) {
        for length in 0..LENGTH_MAX {
            assert_survives(&"x".repeat(length));
            let text =
                |at: usize| format!("{}{character}{}", "x".repeat(at), "y".repeat(length - at));
            (0..=length).for_each(|at| assert_survives(&text(at)));
        }
    }
}

proptest! {
    #[test]
    fn any_string_survives(text in any::<String>(), times in 1..5_usize) {
        assert_survives(&text.repeat(times));
    }
}
