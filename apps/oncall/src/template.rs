//! Message templates: `{service} has {error.code}` is filled from the subject of a search. An invalid
//! template is still sent; placeholders without a value stay as they are.

use keyloom::Value;

/// Fills the placeholders of a template. `{{` is a literal brace.
pub(crate) fn fill(template: &str, subject: Option<&Value>) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        filled.push_str(&rest[..start]);
        rest = &rest[start..];
        if let Some(after) = rest.strip_prefix("{{") {
            filled.push('{');
            rest = after;
            continue;
        }
        let Some(end) = rest.find('}') else { break };
        let found = subject.and_then(|subject| find(subject, rest[1..end].trim()));
        match found {
            Some(value) => filled.push_str(&plain(value)),
            None => filled.push_str(&rest[..=end]),
        }
        rest = &rest[end + 1..];
    }
    filled + rest
}

/// The subject of a search, one line per member, for searches without a template.
pub(crate) fn lines(subject: Option<&Value>) -> String {
    match subject {
        None | Some(Value::Null) => "You are needed.".to_owned(),
        Some(Value::M(members)) => {
            let lines = members.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
        Some(other) => plain(other),
    }
}

fn find<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::M(members) => members.get(name),
        Value::L(elements) => elements.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        Value::Bool(is_so) => (if *is_so { "yes" } else { "no" }).to_owned(),
        Value::Null => String::new(),
        Value::L(elements) => elements.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::M(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            members.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use keyloom::json_to_item;

    use super::*;

    fn subject() -> Value {
        let json = br#"{"service": "checkout", "code": 500, "is_new": true, "none": null,
                        "error": {"where": ["db", "cache"], "{x}": 1}}"#;
        Value::M(json_to_item(json).unwrap())
    }

    #[test]
    fn placeholders_are_filled_and_unknown_ones_stay() {
        let subject = subject();
        for (template, expected) in [
            ("{service} has {code}", "checkout has 500"),
            ("{ service }!", "checkout!"),
            ("{error.where.1} of {error.where}", "cache of db, cache"),
            ("{is_new}{none}", "yes"),
            ("{nothing} {error.nothing} {service.x}", "{nothing} {error.nothing} {service.x}"),
            ("{{service}} {service", "{service}} {service"),
            ("ü{service}ü", "ücheckoutü"),
            ("{}", "{}"),
            ("", ""),
        ] {
            assert_eq!(fill(template, Some(&subject)), expected, "{template}");
        }
        assert_eq!(fill("{service}", None), "{service}");
    }

    #[test]
    fn a_subject_without_a_template_becomes_lines() {
        assert_eq!(lines(None), "You are needed.");
        let text = lines(Some(&subject()));
        assert!(text.contains("service: checkout") && text.contains("code: 500"), "{text}");
        assert_eq!(lines(Some(&Value::from("fire"))), "fire");
    }
}
