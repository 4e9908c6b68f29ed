//! Patterns of texts: what they accept, in documents, patches and stored fields.

use keyloom_model::{Entity, check, render};
use keyloom_value::{Item, Value};
use proptest::prelude::*;
use proptest::string::string_regex;

fn part(pattern: &str) -> Entity {
    let text = format!("[entity.part]\nfields.number = \"text?\"\npattern.number = '{pattern}'\n");
    let model = check(&text).unwrap_or_else(|errors| panic!("{}", render(&errors, "model.toml")));
    model.entity(model.find("part").expect("there are parts")).clone()
}

fn number(text: &str) -> Item {
    Item::from([("number", Value::from(text))])
}

#[test]
fn a_whole_text_must_match() {
    let cases: [(&str, &[&str], &[&str]); 6] = [
        (
            "[A-Z]{3}-[0-9]+",
            &["ABC-1", "XYZ-007"],
            &["", "abc-1", "ABC-", " ABC-1", "ABC-1\n", "ABC-1x"],
        ),
        ("a|b", &["a", "b"], &["ab", "ax", "xb"]),
        (r"\d+\.\d\d", &["1.50"], &["1,50", "1.5", "１.50"]),
        ("^x$", &["x"], &["xx", "x\n"]),
        (".{2}", &["äö", "\u{1F600}a"], &["a", "abc"]),
        (r"\[\w*\]", &["[]", "[a_1]"], &["[-]", "x[]"]),
    ];
    for (pattern, right, wrong) in cases {
        let part = part(pattern);
        for text in right {
            assert_eq!(part.admit(&number(text), 0), Ok(number(text)), "{pattern} {text:?}");
        }
        for text in wrong {
            assert!(part.admit(&number(text), 0).is_err(), "{pattern} {text:?}");
            assert!(part.check_fields(&number(text)).is_err(), "{pattern} {text:?}");
            assert!(part.admit_patch(&Item::new(), &number(text)).is_err(), "{pattern} {text:?}");
        }
        // An absent text has no form.
        assert_eq!(part.admit(&Item::new(), 0), Ok(Item::new()));
    }
    let errors = part("[a-z]+").admit(&number("X1"), 0).expect_err("it does not match");
    assert_eq!(errors[0].to_string(), "`number` must match the pattern `[a-z]+`, and this is `X1`");
}

#[test]
fn no_text_takes_long() {
    // Exponential for a matcher that tries one way after the other.
    let part = part("(?:(?:a|aa)*b?)*(?:a{20}){20}c");
    let start = std::time::Instant::now();
    for length in [1_999, 2_000, 2_001, 300_000] {
        assert!(part.admit(&number(&"a".repeat(length)), 0).is_err());
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn a_text_with_a_pattern_has_at_most_2000_characters() {
    let part = part("ä*");
    assert!(part.admit(&number(&"ä".repeat(2_000)), 0).is_ok());
    assert!(part.admit(&number(&"ä".repeat(2_001)), 0).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_generated_from_a_pattern_match(text in string_regex("(?:[a-c]{1,3}-|x)*[0-9]?").unwrap()) {
        let part = part("(?:[a-c]{1,3}-|x)*[0-9]?");
        prop_assert!(part.admit(&number(&text), 0).is_ok(), "{}", text);
        let longer = format!("{text}!");
        prop_assert!(part.admit(&number(&longer), 0).is_err());
    }

    #[test]
    fn no_pattern_makes_the_model_panic(pattern in any::<String>(), text in any::<String>()) {
        let quoted = toml_text(&pattern);
        let model = format!("[entity.part]\nfields.number = \"text\"\npattern.number = {quoted}\n");
        if let Ok(model) = check(&model) {
            let part = model.entity(model.find("part").expect("there are parts"));
            let _ = part.admit(&number(&text), 0);
        }
    }
}

/// A text as a basic string of TOML.
fn toml_text(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", c as u32),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
