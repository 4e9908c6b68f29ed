//! Parses parameters as filters by tags and words, and as values of facets.
//!
//! ```text
//! tag    = [ "!" ] key ":" ( value { "|" value } )
//! value  = "*" | text                                  "*": any value of the key
//! facet  = text { "," text }
//! ```
//!
//! The first `:` ends a key. A backslash escapes one of `\ ! : | * ,` and is invalid before anything
//! else.

use keyloom::{Filter, Value};
use keyloom_model::{Entity, Field, FieldId, FieldType, Search};

use super::call::{bad_parameter, cut};
use super::field_value::value;
use super::problem::Problem;
use super::reserved::SEARCH;

/// The characters that a backslash can escape.
const ESCAPED: &str = "\\!:|*,";

/// The parameters that take tags, each with its field: `tag`, or, if several fields hold tags, the name
/// of each.
pub(crate) fn tag_parameters(entity: &Entity) -> Vec<(&str, FieldId)> {
    let fields: Vec<FieldId> = entity.tag_fields().collect();
    match fields[..] {
        [only] if entity.find_field("tag").is_none() => vec![("tag", only)],
        _ => fields.into_iter().map(|id| (entity.field(id).name.as_str(), id)).collect(),
    }
}

/// The parameters that take words, each with its search: `q`, or, of several searches, `q.` and the name
/// of each.
pub(crate) fn search_parameters(entity: &Entity) -> Vec<(String, &Search)> {
    match &entity.searches[..] {
        [only] => vec![(SEARCH.to_owned(), only)],
        several => several.iter().map(|one| (format!("q.{}", one.name), one)).collect(),
    }
}

/// Parses a filter by the tags in a field.
pub(crate) fn tag_filter(parameter: &str, text: &str, field: &Field) -> Result<Filter, Problem> {
    let (is_negated, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let (key, values) = split_once(rest, ':').ok_or_else(|| {
        let text = cut(text);
        bad_parameter(format!(
            "`{parameter}` is a key and a value, as in `key:value`: `{text}` is not."
        ))
    })?;
    let key = plain(parameter, key)?;
    let filter = |value: &str| {
        let filter = match value {
            "*" => Filter::has_tag(&key),
            value => Filter::tag(&key, plain(parameter, value)?),
        };
        Ok(filter.in_field(&field.name))
    };
    let any = split(values, '|').into_iter().map(filter).collect::<Result<Vec<_>, Problem>>()?;
    let any = Filter::any(any);
    Ok(if is_negated { any.not() } else { any })
}

/// Parses comma-separated values of a facet.
pub(crate) fn facet_values(field: &Field, text: &str) -> Result<Vec<Value>, Problem> {
    let value = |text: &str| {
        let text = plain(&field.name, text)?;
        let value = value(field, &text)?;
        let is_number = matches!(field.of, FieldType::Int(_) | FieldType::Number(_));
        match is_number && field.check(&value).is_err() {
            true => {
                let (name, words) = (&field.name, field.of.in_words());
                Err(bad_parameter(format!("`{name}` is {words}, and `{}` is not.", cut(&text))))
            }
            false => Ok(value),
        }
    };
    split(text, ',').into_iter().map(value).collect()
}

/// Splits text at the first separator that is not escaped.
fn split_once(text: &str, sign: char) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            '\\' => is_escaped = !is_escaped,
            _ if character == sign && !is_escaped => {
                return Some((&text[..at], &text[at + sign.len_utf8()..]));
            }
            _ => is_escaped = false,
        }
    }
    None
}

fn split(text: &str, sign: char) -> Vec<&str> {
    let (mut parts, mut rest) = (vec![], text);
    while let Some((part, after)) = split_once(rest, sign) {
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// Removes the backslashes from text.
fn plain(parameter: &str, text: &str) -> Result<String, Problem> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => characters.next().filter(|sign| ESCAPED.contains(*sign)).ok_or_else(|| {
                bad_parameter(format!(
                    "A backslash in `{parameter}` must be followed by one of `{ESCAPED}`: write `\\\\` \
                     for a backslash."
                ))
            })?,
            character => character,
        });
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field() -> Field {
        let model = keyloom_model::check("[entity.task]\nfields.tags = \"tags\"\n").unwrap();
        let (_, entity) = model.entities().next().unwrap();
        entity.field(entity.find_field("tags").unwrap()).clone()
    }

    fn tag(key: &str, value: &str) -> Filter {
        Filter::tag(key, value).in_field("tags")
    }

    #[test]
    fn tag_filters_are_parsed() {
        let has = |key: &str| Filter::has_tag(key).in_field("tags");
        let cases = [
            ("a:b", Filter::any([tag("a", "b")])),
            ("url:http://x", Filter::any([tag("url", "http://x")])),
            ("a:", Filter::any([tag("a", "")])),
            ("a:b|c", Filter::any([tag("a", "b"), tag("a", "c")])),
            ("!a:b|c", Filter::any([tag("a", "b"), tag("a", "c")]).not()),
            ("a:*", Filter::any([has("a")])),
            ("!a:*", Filter::any([has("a")]).not()),
            (r"a:\*", Filter::any([tag("a", "*")])),
            ("a:b*", Filter::any([tag("a", "b*")])),
            (r"\!a:!b", Filter::any([tag("!a", "!b")])),
            (r"a\:b:c", Filter::any([tag("a:b", "c")])),
            (r"a:b\|c|d\\|\,", Filter::any([tag("a", "b|c"), tag("a", "d\\"), tag("a", ",")])),
            ("ä:ö|😀", Filter::any([tag("ä", "ö"), tag("ä", "😀")])),
        ];
        for (text, expected) in cases {
            assert_eq!(tag_filter("tag", text, &field()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn invalid_tag_filters_are_rejected() {
        for text in ["", "a", "!", "!a", r"a\:b", r"a:\b", r"a:b\", r"\", r"a\b:c"] {
            tag_filter("tag", text, &field()).unwrap_err();
        }
    }
}
