//! No text makes the checker panic, hang or report a position outside of the text.

use keyloom_model::{Code, check, declarations, render};
use proptest::prelude::*;

const SEEDS: &[&str] = &[
    include_str!("../../../../apps/comments/model.toml"),
    include_str!("../../../../apps/kitchen/model.toml"),
    include_str!("../../../../apps/oncall/model.toml"),
    include_str!("../../../../apps/tasks/model.toml"),
];

/// Fragments of the language, and some that may cause trouble.
const FRAGMENTS: &[&str] = &[
    "[entity.a]",
    "[entity.a.list.b]",
    "[entity.b]",
    "[on.a]",
    "\n",
    "\r\n",
    " ",
    "=",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    ".",
    "..",
    "?",
    "-",
    "fields.x",
    "fields.id",
    "by",
    "order",
    "where",
    "unique",
    "parent",
    "tenant",
    "path",
    "\"text\"",
    "\"int 1..5 = 9\"",
    "\"ref a clear\"",
    "\"list of map of any\"",
    "\"enum(a,a)\"",
    "\"time = now\"",
    "\"a\"",
    "\"/{x}\"",
    "é",
    "\u{1F600}",
    "\\u0000",
    "\t",
    "1",
    "true",
    "1e400",
    "nan",
    "2024-01-01",
    "\"\"\"",
    "\u{FEFF}",
    "# c",
];

/// Checks a text twice: same answer, and every error points into the text. Its parts are lines of it.
fn check_twice(source: &str) {
    for part in declarations(source).values() {
        assert!(part.lines().all(|line| source.contains(line)), "{part}");
    }
    let answer = check(source);
    assert_eq!(answer, check(source));
    let Err(errors) = answer else { return };
    assert!(!errors.is_empty());
    let lines: Vec<&str> = source.split('\n').collect();
    for error in &errors {
        let line = lines.get(error.line() - 1).unwrap_or_else(|| panic!("no line in {error}"));
        let characters = line.chars().count();
        assert!((1..=characters + 1).contains(&error.column()), "no column in {error}");
    }
    let _ = render(&errors, "model.toml");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_checked(source in "\\PC{0,200}") {
        check_twice(&source);
    }

    #[test]
    fn any_fragments_of_the_language_are_checked(
        pieces in prop::collection::vec(prop::sample::select(FRAGMENTS), 0..60),
    ) {
        check_twice(&pieces.concat());
    }

    #[test]
    fn any_field_is_checked(spec in "(text|int|ref a|list of|enum\\(|[a-z0-9.?=(),\\[\\]{}' -]|é){0,30}") {
        check_twice(&format!("[entity.a]\nfields.b = \"{spec}\"\n"));
    }

    #[test]
    fn a_model_with_fragments_replaced_is_checked(
        seed in prop::sample::select(SEEDS),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize), 1..6),
        pieces in prop::collection::vec(prop::sample::select(FRAGMENTS), 6),
    ) {
        let mut characters: Vec<char> = seed.chars().collect();
        for ((place, length), piece) in cuts.into_iter().zip(pieces) {
            let start = place.index(characters.len());
            let end = (start + length).min(characters.len());
            characters.splice(start..end, piece.chars());
        }
        check_twice(&characters.into_iter().collect::<String>());
    }
}

#[test]
fn deep_nesting_is_an_error_and_does_not_crash() {
    let depth = 10_000;
    let sources = [
        format!("x = {}{}", "[".repeat(depth), "]".repeat(depth)),
        format!("x = {}1{}", "{a = ".repeat(depth), "}".repeat(depth)),
        format!("[{}x]", "a.".repeat(depth)),
        format!("{}x = 1", "a.".repeat(depth)),
        "[".repeat(depth),
        format!("[entity.a]\nfields.b = \"{}text\"", "list of ".repeat(depth)),
    ];
    for source in sources {
        check_twice(&source);
        assert!(check(&source).is_err());
    }
    let errors = check(&format!("x = {}", "[".repeat(depth))).expect_err("nested too deep");
    let text = errors[0].to_string();
    assert!(text.starts_with("error[K0101]: nested too deep\n --> 1:"), "{text}");
    let deep = format!("[entity.a]\nfields.b = \"{}text\"", "map of ".repeat(8));
    assert!(check(&deep).is_ok());
    let deeper = format!("[entity.a]\nfields.b = \"{}text\"", "map of ".repeat(9));
    assert_eq!(check(&deeper).expect_err("too deep")[0].code(), Code::TypeTooDeep);
}

#[test]
fn the_largest_files_are_checked_quickly() {
    let names: String = (0..90_000).map(|n| format!("\"x{n}\",")).collect();
    let long_line = format!("[entity.a]\nfields.y = \"int\"\nlist.b = {{ by = [{names}] }}\n");
    let lists: String =
        (0..9000).map(|n| format!("[entity.a.list.l{n}]\nby = \"x{n}\"\n")).collect();
    let members: String = (0..100_000).map(|n| format!("m{n},")).collect();
    let uniques: String = (0..40_000).map(|n| format!("[\"y\",\"x{}\"],", n % 100)).collect();
    let fields: String = (0..100).map(|n| format!("fields.x{n} = \"int\"\n")).collect();
    let uniques = format!("[entity.a]\nfields.y = \"int\"\n{fields}unique = [{uniques}]\n");
    for source in [long_line, uniques, lists, format!("[entity.a]\nfields.y = \"enum({members})\"")]
    {
        assert!(source.len() <= 1024 * 1024);
        check_twice(&source);
    }
}
