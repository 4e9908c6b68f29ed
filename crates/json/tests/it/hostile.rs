//! The reader accepts and rejects the same texts as serde_json.

use keyloom_json::JsonFault;
use proptest::prelude::*;
use serde::de::IgnoredAny;

use crate::tree::{LIMITS, rewritten};

const PIECES: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "\\n", "0", "1", "-",
    "+", ".", "e", "E5", "1e999", "00", "true", "nul", "null", " ", "\n", "\0", "\u{1F}", "é",
    "😀", "\u{FEFF}", "\"a\":", "\"a\"", "{}",
];

const SEEDS: &[&str] = &[
    r#"{"name":"tomato","count":12,"price":1.50,"tags":["a","b"],"more":{"x":null,"y":[true,{}]}}"#,
    r#"{"é":"\u00e9\ud83d\ude00\n","n":[-0,1e5,-1.25E-3,123456789012345678901234567890]}"#,
    r#" [ [ [ 1 ] , 2 ] , { "a" : { } } , false ] "#,
];

fn judge(text: &str) {
    let theirs = serde_json::from_str::<IgnoredAny>(text);
    match rewritten(text, LIMITS) {
        Ok(json) => {
            assert!(theirs.is_ok(), "{text}");
            assert_eq!(rewritten(&json, LIMITS).as_ref(), Ok(&json), "{text}");
        }
        Err(error) => {
            assert!(text.is_char_boundary(error.offset), "{text}");
            // serde_json does not check strings that it skips.
            let is_stricter = error.fault == JsonFault::LoneSurrogate;
            assert!(theirs.is_err() || is_stricter, "{error}: {text}");
        }
    }
}

/// The default number of cases, or `PROPTEST_CASES`, times the factor.
fn cases(factor: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases * factor, ..config }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn any_text_is_parsed_or_rejected(text in ".{0,60}") {
        judge(&text);
    }

    #[test]
    fn any_fragments_of_json_are_parsed_or_rejected(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
    ) {
        judge(&pieces.concat());
        judge(&format!("[{}]", pieces.concat()));
    }

    #[test]
    fn json_with_replaced_fragments_is_parsed_or_rejected(
        seed in prop::sample::select(SEEDS),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize), 1..4),
        pieces in prop::collection::vec(prop::sample::select(PIECES), 4),
    ) {
        let mut characters: Vec<char> = seed.chars().collect();
        for ((place, length), piece) in cuts.iter().zip(&pieces) {
            let start = place.index(characters.len());
            let end = (start + length).min(characters.len());
            characters.splice(start..end, piece.chars());
        }
        judge(&characters.iter().collect::<String>());
    }
}
