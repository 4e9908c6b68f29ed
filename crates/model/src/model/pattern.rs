//! Patterns of texts: regular expressions that a whole text must match.
//!
//! Matching takes time proportional to the size of the compiled pattern times the length of the text.
//! Both are limited, so that no text takes long.

use std::fmt;

use regex_lite::{Regex, RegexBuilder};

use super::id::FieldId;

/// Maximum length of a text with a pattern, in characters.
pub(super) const TEXT_MAX: usize = 2_000;
/// Maximum length of a pattern in bytes.
const PATTERN_BYTES_MAX: usize = 500;
/// Maximum size of a compiled pattern in bytes: about a thousand states.
const COMPILED_BYTES_MAX: usize = 32 * 1024;
/// What may follow a backslash, besides punctuation: what JavaScript, Python and Rust have in common.
const ESCAPED: &str = "dDwWsSbBnrtfv";

/// The pattern of a text field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternRule {
    pub(crate) field: FieldId,
    pub(crate) pattern: Pattern,
}

/// A regular expression that a whole text must match.
#[derive(Clone)]
pub(crate) struct Pattern {
    /// As declared.
    text: String,
    /// With anchors around it.
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn new(text: &str) -> Result<Pattern, String> {
        if text.is_empty() || text.len() > PATTERN_BYTES_MAX {
            return Err(format!("it must have 1 to {PATTERN_BYTES_MAX} bytes"));
        }
        check_portable(text)?;
        let compile = |text: &str| {
            let regex = RegexBuilder::new(text).size_limit(COMPILED_BYTES_MAX).build();
            regex.map_err(|error| error.to_string())
        };
        // Alone first: with the anchors, parentheses that do not match could seem to.
        compile(text)?;
        let regex = compile(&anchored(text))?;
        Ok(Pattern { text: text.to_owned(), regex })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a whole text matches; texts over the maximum length do not.
    pub(crate) fn matches(&self, text: &str) -> bool {
        text.chars().nth(TEXT_MAX).is_none() && self.regex.is_match(text)
    }

    /// The pattern as a whole text must match it.
    pub(crate) fn anchored(&self) -> String {
        anchored(&self.text)
    }
}

fn anchored(text: &str) -> String {
    format!("^(?:{text})$")
}

/// Refuses what other languages read differently, because OpenAPI has the same pattern.
fn check_portable(text: &str) -> Result<(), String> {
    let mut characters = text.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        match (character, next) {
            ('\\', Some(next)) if next.is_ascii_alphanumeric() && !ESCAPED.contains(next) => {
                return Err(format!("`\\{next}` is not supported"));
            }
            ('\\', Some(_)) => drop(characters.next()),
            ('(', Some('?')) => {
                characters.next();
                if characters.peek() != Some(&':') {
                    return Err("`(?` is only supported in `(?:`".to_owned());
                }
            }
            ('[', Some(':')) if before == '[' => {
                return Err("classes such as `[[:alpha:]]` are not supported".to_owned());
            }
            _ => {}
        }
        before = character;
    }
    Ok(())
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}
