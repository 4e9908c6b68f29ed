//! Splits JSON that this server has written into its parts, without parsing numbers or texts: they stay
//! as they are.

/// The members of an object: names, without escapes, and values.
pub(super) fn members(object: &str) -> Vec<(&str, &str)> {
    let inner = object.trim().strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
    let member = |part| {
        let (name, value) = split_at(part, ':')?;
        let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
        Some((name, value.trim()))
    };
    parts(inner.unwrap_or_default()).into_iter().filter_map(member).collect()
}

/// The elements of an array.
pub(super) fn elements(array: &str) -> Vec<&str> {
    let inner = array.trim().strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    parts(inner.unwrap_or_default()).into_iter().map(str::trim).collect()
}

/// The parts between commas that are not inside of something.
fn parts(mut text: &str) -> Vec<&str> {
    let mut parts = vec![];
    while let Some((part, rest)) = split_at(text, ',') {
        parts.push(part);
        text = rest;
    }
    if !text.trim().is_empty() {
        parts.push(text);
    }
    parts
}

/// Splits at the first such character that is not inside of a text, an object or an array.
fn split_at(text: &str, separator: char) -> Option<(&str, &str)> {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    // All that matters is ASCII, which no other character contains.
    for (index, byte) in text.bytes().enumerate() {
        match (is_text, byte) {
            _ if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_text = !is_text,
            (true, _) => {}
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (false, other) if char::from(other) == separator && depth == 0 => {
                return Some((&text[..index], &text[index + 1..]));
            }
            (false, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_arrays_are_split_at_their_own_commas() {
        let text = r#"{"items":[{"a":"x,\"]}"},[1,2],"\\"],"next":"a:b","total":1e3}"#;
        let found = members(text);
        assert_eq!(found[1..], [("next", "\"a:b\""), ("total", "1e3")]);
        assert_eq!(elements(found[0].1), [r#"{"a":"x,\"]}"}"#, "[1,2]", r#""\\""#]);
        assert_eq!(members("{}"), []);
        assert_eq!(elements("[]"), Vec::<&str>::new());
    }
}
