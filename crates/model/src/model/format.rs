//! Formats of texts.
//!
//! A format is a pattern, so that other programs can be told exactly what is accepted. It says
//! that a text can be an address, not that anybody is there.

use std::sync::LazyLock;

use keyloom_value::{Item, Value};
use regex_lite::Regex;

use super::{Entity, FieldId};

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// A mail address, as `<input type=email>` of the HTML standard takes it.
    Email,
    /// A telephone number in E.164: `+` and 7 to 15 digits.
    Phone,
    /// An absolute URL with the scheme `http` or `https`.
    Url,
}

/// The format that a text field must have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatRule {
    /// The text field.
    pub field: FieldId,
    /// Which format it is.
    pub choice: FormatChoice,
}

/// Which format a field must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatChoice {
    /// Always the same.
    Always(Format),
    /// The format of the member that this enum field has; none if that one has none.
    By(FieldId, Vec<(String, Format)>),
}

/// The patterns, in the order of [`Format::ALL`].
static COMPILED: LazyLock<[Option<Regex>; Format::ALL.len()]> =
    LazyLock::new(|| Format::ALL.map(|format| Regex::new(format.pattern()).ok()));

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Email, Format::Phone, Format::Url];

    /// What the model file calls it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Email => "email",
            Format::Phone => "phone",
            Format::Url => "url",
        }
    }

    /// The regular expression of all texts that have it, in the syntax that JavaScript, Python and
    /// Rust share.
    pub fn pattern(self) -> &'static str {
        match self {
            Format::Email => {
                "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\
                 (?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*$"
            }
            Format::Phone => "^\\+[1-9][0-9]{6,14}$",
            Format::Url => {
                "^https?://(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\
                 (?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\\[[0-9a-fA-F]*:[0-9a-fA-F:.]*\\])\
                 (?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6(?:[0-4][0-9]{3}|5(?:[0-4][0-9]{2}\
                 |5(?:[0-2][0-9]|3[0-5])))))?(?:[/?#](?:[a-zA-Z0-9._~:/?#@!$&'()*+,;=\\[\\]-]|%[0-9a-fA-F]{2})*)?$"
            }
        }
    }

    /// As many characters as a text in it has at most.
    pub fn length_max(self) -> u64 {
        match self {
            Format::Email => 254,
            Format::Phone => 16,
            Format::Url => 2_000,
        }
    }

    /// A text that has it.
    pub fn example(self) -> &'static str {
        match self {
            Format::Email => "ada@example.com",
            Format::Phone => "+15550100",
            Format::Url => "https://example.com/hook",
        }
    }

    /// What it is, in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Format::Email => "an email address such as `ada@example.com`",
            Format::Phone => "a phone number such as `+15550100`, with 7 to 15 digits",
            Format::Url => "an http or https URL such as `https://example.com/hook`",
        }
    }

    /// Whether a text has it. O(n), and long texts are not looked at.
    pub fn matches(self, text: &str) -> bool {
        let is_short = text.len() as u64 <= self.length_max();
        let index = Format::ALL.iter().position(|format| *format == self);
        let pattern = index.and_then(|index| COMPILED[index].as_ref());
        is_short && pattern.is_some_and(|pattern| pattern.is_match(text))
    }
}

impl Entity {
    /// The rule for the format of a field.
    pub fn format_rule(&self, field: FieldId) -> Option<&FormatRule> {
        self.formats.iter().find(|rule| rule.field == field)
    }
}

impl FormatRule {
    /// The format that the field must have among these fields, in stored form.
    pub fn format(&self, entity: &Entity, fields: &Item) -> Option<Format> {
        match &self.choice {
            FormatChoice::Always(format) => Some(*format),
            FormatChoice::By(field, formats) => {
                let member = fields.get(&entity.field(*field).name).and_then(Value::as_s)?;
                formats.iter().find(|(of, _)| of == member).map(|(_, format)| *format)
            }
        }
    }

    /// Every format that it can ask for.
    pub fn formats(&self) -> Vec<Format> {
        match &self.choice {
            FormatChoice::Always(format) => vec![*format],
            FormatChoice::By(_, formats) => formats.iter().map(|(_, format)| *format).collect(),
        }
    }
}
