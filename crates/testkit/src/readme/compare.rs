//! Compares what a page shows with what was printed.

use serde_json::Value;

/// Matches anything.
const ANYTHING: &str = "…";

/// Compares lines of text, ignoring ports; `…` stands for any text within a line.
pub(super) fn compare_text(script: &str, expected: &str, found: &str) {
    let lines = |text: &str| -> Vec<String> { text.trim().lines().map(without_ports).collect() };
    let (expected, found) = (lines(expected), lines(found));
    let is_wrong = |(expected, found): (&String, &String)| !fits_line(expected, found);
    let wrong = expected.iter().zip(&found).position(is_wrong);
    let wrong =
        wrong.or((expected.len() != found.len()).then_some(expected.len().min(found.len())));
    if let Some(line) = wrong {
        let found_line = found.get(line).map_or("", String::as_str);
        let expected_line = expected.get(line).map_or("", String::as_str);
        panic!(
            "{script}\nprints\n{}\n\nLine {} is\n{found_line}\nand not\n{expected_line}",
            found.join("\n"),
            line + 1
        );
    }
}

fn without_ports(line: &str) -> String {
    let mut parts = line.trim_end().split("127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.fold(first, |text, part| text + "127.0.0.1" + part)
}

fn fits_line(expected: &str, found: &str) -> bool {
    let Some((start, end)) = expected.rsplit_once(ANYTHING) else { return expected == found };
    let Some(mut rest) = found.strip_suffix(end) else { return false };
    let mut parts = start.split(ANYTHING);
    match rest.strip_prefix(parts.next().unwrap_or_default()) {
        Some(after) => rest = after,
        None => return false,
    }
    parts.all(|part| {
        let found = rest.split_once(part);
        rest = found.map_or(rest, |(_, after)| after);
        found.is_some()
    })
}

pub(super) fn compare(script: &str, expected: &str, answer: &str) {
    let parse = |text: &str| -> Vec<Value> {
        let values = serde_json::Deserializer::from_str(text).into_iter();
        let values: Result<Vec<Value>, _> = values.collect();
        values.unwrap_or_else(|error| {
            panic!("The answer to\n{script}\nis not JSON ({error}):\n{text}")
        })
    };
    let (expected, found) = (parse(expected), parse(answer));
    let last = &found[found.len().saturating_sub(expected.len())..];
    let all_fit = expected.len() == last.len()
        && expected.iter().zip(last).all(|(expected, found)| fits(expected, found));
    assert!(
        all_fit,
        "The page says that\n{script}\nanswers\n{expected:#?}\nbut it answers\n{last:#?}"
    );
}

fn fits(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(text), _) if text == ANYTHING => true,
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| fits(e, f))
        }
        (Value::Object(expected), Value::Object(found)) => {
            let may_have_more = expected.contains_key(ANYTHING);
            let named = expected.iter().filter(|(name, _)| *name != ANYTHING);
            let mut matched = 0;
            for (name, expected) in named {
                match found.get(name) {
                    Some(found) if fits(expected, found) => matched += 1,
                    _ => return false,
                }
            }
            may_have_more || matched == found.len()
        }
        (expected, found) => expected == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_detected() {
        let fits = |expected: &str, found: &str| {
            fits(&serde_json::from_str(expected).unwrap(), &serde_json::from_str(found).unwrap())
        };
        assert!(fits(r#"{"a":1,"b":"…"}"#, r#"{"b":[2],"a":1}"#));
        assert!(fits(r#"{"a":1,"…":"…"}"#, r#"{"a":1,"b":2}"#));
        assert!(fits(r#"[{"a":"…"}]"#, r#"[{"a":null}]"#));
        for (expected, found) in [
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#),
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":2}"#),
            ("[1]", "[1,2]"),
            (r#""x""#, r#""y""#),
        ] {
            assert!(!fits(expected, found), "{expected} {found}");
        }
    }

    #[test]
    fn lines_match_around_what_varies() {
        for (expected, found, does_fit) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("id: …", "id: 7", true),
            ("{\"id\":\"…\",\"n\":…}", "{\"id\":\"x\",\"n\":1}", true),
            ("{\"id\":\"…\",\"n\":2}", "{\"id\":\"x\",\"n\":1}", false),
            ("a…b…c", "abc", true),
            ("a…b…c", "acb", false),
            ("on http://127.0.0.1:8080", "on http://127.0.0.1:4711", true),
        ] {
            let fits = fits_line(&without_ports(expected), &without_ports(found));
            assert_eq!(fits, does_fit, "{expected} {found}");
        }
    }
}
