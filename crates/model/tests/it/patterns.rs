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
            let field = part.find_field("number").expect("it has a number");
            let _ = part.pattern_text(field, |count| 7 % count);
        }
    }

    #[test]
    fn a_text_is_found_for_every_plain_pattern(pattern in plain_pattern(), choices in any::<u64>()) {
        let part = part(&pattern);
        let mut rest = choices;
        let text = text_of(&part, |count| {
            rest = rest.rotate_left(7);
            (rest % count as u64) as usize
        });
        let text = text.expect("a text is found");
        prop_assert!(part.admit(&number(&text), 0).is_ok(), "{} {:?}", pattern, text);
    }
}

fn text_of(part: &Entity, choose: impl FnMut(usize) -> usize) -> Option<String> {
    part.pattern_text(part.find_field("number").expect("it has a number"), choose)
}

/// Patterns without assertions that need few characters.
fn plain_pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[a-z0-9]".prop_map(String::from),
        prop_oneof![
            Just("[A-Z]"),
            Just(r"\d"),
            Just("[^a-y]"),
            Just("."),
            Just(r"[\w.]"),
            Just("ä")
        ]
        .prop_map(String::from),
    ];
    leaf.prop_recursive(4, 12, 3, |part| {
        let several = prop::collection::vec(part.clone(), 1..4);
        let repeated = vec!["?", "*", "+", "{2}", "{0,3}", "{1,}"];
        prop_oneof![
            several.clone().prop_map(|parts: Vec<String>| parts.concat()),
            several.prop_map(|parts: Vec<String>| format!("(?:{})", parts.join("|"))),
            (part, prop::sample::select(repeated))
                .prop_map(|(part, count)| format!("(?:{part}){count}")),
        ]
    })
}

#[test]
fn texts_of_patterns_show_what_they_look_like() {
    let cases = [
        ("[A-Z]{3}-[0-9]{4,8}", "ABC-3456"),
        (r"\d+\.\d\d", "0.12"),
        ("(?:north|south)-[a-z]+", "north-b"),
        ("[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2})", "01:23Z"),
        ("[äö]{2}", "äö"),
        (r"[\n]\t\s", "\n\t "),
    ];
    for (pattern, expected) in cases {
        let mut order = 0..;
        let text = text_of(&part(pattern), |count| order.next().unwrap_or(0) % count);
        assert_eq!(text.as_deref(), Some(expected), "{pattern}");
    }
    // What is between characters is not looked at: a boundary after a hyphen.
    assert_eq!(text_of(&part(r"-\b-"), |_| 0), None);
}

#[test]
fn a_text_of_a_pattern_has_the_length_of_its_field() {
    let model =
        "[entity.part]\nfields.number = \"text 12..14\"\npattern.number = '[a-z]+-[0-9]+'\n";
    let model = check(model).unwrap();
    let part = model.entity(model.find("part").unwrap());
    let text = text_of(part, |_| 0).unwrap();
    assert!((12..=14).contains(&text.len()), "{text}");
    assert!(part.admit(&number(&text), 0).is_ok());
}

#[test]
fn no_text_is_found_if_none_has_the_length_of_the_field() {
    for (limits, pattern) in
        [("5..6", "[a-z]{300}"), ("900..999", "[a-z]{300}"), ("5..5", "x{3}y{9}")]
    {
        let model = format!(
            "[entity.part]\nfields.number = \"text {limits}\"\npattern.number = '{pattern}'\n"
        );
        let model = check(&model).unwrap();
        let part = model.entity(model.find("part").unwrap());
        assert_eq!(text_of(part, |_| 0), None, "{limits} {pattern}");
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
