//! Any bytes are safe to read: the result equals serde_json's, or is an error with a position.

use keyloom::{item_to_json, json_to_item};
use keyloom_value::{Number, Value};
use proptest::prelude::*;

const SEEDS: &[&str] = &[
    r#"{"name":"tomato","count":12,"price":1.50,"tags":["a","b"],"more":{"x":null,"y":[true,{}]}}"#,
    r#"{"é":"\u00e9\ud83d\ude00\n","n":[-0,1e5,-1.25E-3,123456789012345678901234567890]}"#,
    r#"{ "a" : { "b" : { "c" : [ [ [ 1 ] , 2 ] , 3 ] } } , "d" : false }"#,
];

const PIECES: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "\\n", "0", "1", "-",
    "+", ".", "e", "E5", "1e999", "00", "true", "nul", "null", " ", "\n", "\0", "\u{1F}", "é",
    "😀", "\u{FEFF}", "\"a\":", "\"a\"", "{}",
];

/// Compares with serde_json, an independent reader.
fn judge(json: &[u8]) {
    let theirs = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(json);
    match json_to_item(json) {
        Ok(item) => {
            let theirs = serde_json::Value::Object(theirs.expect("serde_json reads it too"));
            assert_same(&Value::M(item.clone()), &theirs);
            let written = item_to_json(&item);
            assert_eq!(json_to_item(written.as_bytes()), Ok(item), "{written}");
        }
        Err(error) => {
            let told = error.to_string();
            let (line, column) = error.line_and_column().expect("it has a place");
            let text = String::from_utf8_lossy(json);
            let found = text.split('\n').nth(line - 1).expect("there is such a line");
            assert!(column <= found.chars().count() + 1, "{told}: {text}");
            let is_stricter = ["duplicate", "deep", "digits", "too large", "too close"];
            assert!(
                theirs.is_err() || is_stricter.iter().any(|reason| told.contains(reason)),
                "{told}: {text}"
            );
        }
    }
}

fn assert_same(ours: &Value, theirs: &serde_json::Value) {
    match (ours, theirs) {
        (Value::S(ours), serde_json::Value::String(theirs)) => assert_eq!(ours, theirs),
        (Value::Bool(ours), serde_json::Value::Bool(theirs)) => assert_eq!(ours, theirs),
        (Value::Null, serde_json::Value::Null) => {}
        (Value::N(ours), serde_json::Value::Number(theirs)) => {
            let near: f64 = ours.to_string().parse().expect("a float");
            let exact: Option<Number> = theirs.as_i64().map(Number::from);
            assert!(exact.is_none_or(|exact| exact == *ours));
            assert!((near - theirs.as_f64().expect("a float")).abs() <= near.abs() * 1e-15);
        }
        (Value::L(ours), serde_json::Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len());
            ours.iter().zip(theirs).for_each(|(ours, theirs)| assert_same(ours, theirs));
        }
        (Value::M(ours), serde_json::Value::Object(theirs)) => {
            assert_eq!(ours.len(), theirs.len());
            ours.iter().for_each(|(name, ours)| assert_same(ours, &theirs[name.as_str()]));
        }
        _ => panic!("{ours} is not {theirs}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_bytes_are_parsed_or_rejected(json in prop::collection::vec(any::<u8>(), 0..60)) {
        judge(&json);
    }

    #[test]
    fn any_fragments_of_json_are_parsed_or_rejected(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
    ) {
        judge(pieces.concat().as_bytes());
        judge(format!("{{\"x\":{}}}", pieces.concat()).as_bytes());
    }

    #[test]
    fn json_with_replaced_bytes_is_parsed_or_rejected(
        seed in prop::sample::select(SEEDS),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize), 1..4),
        pieces in prop::collection::vec(prop::sample::select(PIECES), 4),
        byte in any::<u8>(),
    ) {
        let mut json = seed.as_bytes().to_vec();
        for ((place, length), piece) in cuts.iter().zip(&pieces) {
            let start = place.index(json.len());
            let end = (start + length).min(json.len());
            json.splice(start..end, piece.bytes());
        }
        judge(&json);
        let place = cuts[0].0.index(json.len().max(1));
        if let Some(changed) = json.get_mut(place) {
            *changed = byte;
        }
        judge(&json);
        json.truncate(place);
        judge(&json);
    }
}

#[test]
fn deep_nesting_is_refused_before_it_is_built() {
    let depth = 100_000;
    let open = ["[".repeat(depth), "{\"a\":".repeat(depth), "{\"a\":[".repeat(depth)];
    for open in open {
        for json in [open.clone(), format!("{{\"a\":{open}"), format!("{{\"a\":{open}1")] {
            let error = json_to_item(json.as_bytes()).expect_err("too deep").to_string();
            assert!(error.contains("nested more than 32 deep"), "{error}");
            assert!(error.len() < 1000);
        }
    }
}

#[test]
fn large_texts_are_read_quickly_and_errors_are_short() {
    let large = 1_000_000;
    let names: String = (0..100_000).rev().map(|n| format!("\"k{n}\":0,")).collect();
    let fine = format!("{{{names}\"x\":\"{}\"}}", "\\n".repeat(large));
    assert!(json_to_item(fine.as_bytes()).is_ok());
    let wrong = [
        format!("{{{names}\"k7\":1}}"),
        format!("{{\"x\":{}}}", "9".repeat(large)),
        format!("{{\"{}\":x}}", "n".repeat(large)),
        format!("{{\"x\":\"{}", "x".repeat(large)),
        "\n".repeat(large),
    ];
    for json in wrong {
        let error = json_to_item(json.as_bytes()).expect_err("it is wrong").to_string();
        assert!(error.len() < 1000, "{error}");
    }
}

/// A text of 8 MiB: `open`, then `piece` for each number, then `close`.
fn repeated(open: &str, piece: impl Fn(usize) -> String, close: &str) -> String {
    let mut json = open.to_owned();
    for number in 0.. {
        if json.len() >= 8 << 20 {
            break;
        }
        json.push_str(&piece(number));
    }
    json.pop();
    json.push_str(close);
    json
}

/// The most memory that a value takes besides its text: itself, and a name with an allocation of
/// its own.
const VALUE_MEMORY_BYTES: usize = 80;

fn count(value: &Value) -> usize {
    match value {
        Value::L(elements) => 1 + elements.iter().map(count).sum::<usize>(),
        Value::M(members) => 1 + members.iter().map(|(_, member)| count(member)).sum::<usize>(),
        _ => 1,
    }
}

/// Earlier, a body of 8 MiB that was a list of zeros took 460 MB and two seconds.
#[test]
fn texts_with_too_many_values_for_their_size_are_refused() {
    let dense = [
        repeated("{\"a\":[", |_| "0,".to_owned(), "]}"),
        repeated("{\"a\":[", |_| "[],".to_owned(), "]}"),
        repeated("{\"a\":[", |_| "{},".to_owned(), "]}"),
        repeated("{\"a\":[", |_| "\"\",".to_owned(), "]}"),
        repeated("{\"a\":[", |_| "[[0]],".to_owned(), "]}"),
        repeated("{\"a\":[", |_| "{\"a\":0},".to_owned(), "]}"),
    ];
    for json in dense {
        let error = json_to_item(json.as_bytes()).expect_err("too many").to_string();
        assert!(error.contains("more than 1048576 values"), "{error}");
    }
    let sparse = [
        repeated("{", |number| format!("\"{number:x}\":0,"), "}"),
        repeated("{\"a\":[", |_| "\"\\u0041\",".to_owned(), "]}"),
        repeated("{\"a\":[", |_| "12345678,".to_owned(), "]}"),
        format!("{{\"a\":\"{}\"}}", "\\n".repeat(4 << 20)),
    ];
    for json in sparse {
        let item = json_to_item(json.as_bytes()).expect("it is JSON");
        let values = count(&Value::M(item));
        assert!(values * VALUE_MEMORY_BYTES <= 10 * json.len() + 1000, "{values} values");
    }
}

#[test]
fn the_densest_document_of_a_valid_entity_is_read() {
    let fields = 320 * 1024;
    let texts = |count: usize| format!("{{\"a\":[{}\"\"]}}", "\"\",".repeat(count - 1));
    let json = texts(fields - "a".len() - 3);
    let item = json_to_item(json.as_bytes()).expect("it is a document");
    assert_eq!(item.size(), fields);
    let error = json_to_item(texts(fields).as_bytes()).expect_err("too many").to_string();
    assert!(
        error.ends_with("there are more than 327680 values up to here; send fewer at a time"),
        "{error}"
    );
}
