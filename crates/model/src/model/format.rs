//! Formats of texts.
//!
//! A format is a pattern, so that the API description can state exactly what is accepted. A text
//! that matches may be an address; nothing checks that the address exists.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::id::FieldId;

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// An email address, as `<input type=email>` of the HTML standard accepts it.
    Email,
    /// A telephone number in E.164: `+` and 7 to 15 digits.
    Phone,
    /// An absolute URL with the scheme `http` or `https`.
    Url,
    /// A UUID: 32 hexadecimal digits in five groups.
    Uuid,
    /// Lower-case letters and digits, with single hyphens between them.
    Slug,
}

/// The required format of a text field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatRule {
    /// The text field.
    pub field: FieldId,
    /// The format, or what it depends on.
    pub choice: FormatChoice,
}

/// How the required format of a field is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatChoice {
    /// Always the same.
    Always(Format),
    /// By the value of this enum field; members that are not listed require no format.
    By(FieldId, Vec<(String, Format)>),
}

/// The patterns, in the order of [`Format::ALL`].
static COMPILED: LazyLock<[Option<Regex>; Format::ALL.len()]> =
    LazyLock::new(|| Format::ALL.map(|format| Regex::new(format.pattern()).ok()));

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] =
        [Format::Email, Format::Phone, Format::Url, Format::Uuid, Format::Slug];

    /// Its name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Format::Email => "email",
            Format::Phone => "phone",
            Format::Url => "url",
            Format::Uuid => "uuid",
            Format::Slug => "slug",
        }
    }

    /// The regular expression that texts must match, in the syntax that JavaScript, Python and Rust
    /// share.
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
            Format::Uuid => "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
            Format::Slug => "^[a-z0-9]+(?:-[a-z0-9]+)*$",
        }
    }

    /// The maximum length of a text in this format, in characters.
    pub fn length_max(self) -> u64 {
        match self {
            Format::Email => 254,
            Format::Phone => 16,
            Format::Url => 2_000,
            Format::Uuid => 36,
            Format::Slug => 200,
        }
    }

    /// An example text.
    pub fn example(self) -> &'static str {
        match self {
            Format::Email => "ada@example.com",
            Format::Phone => "+15550100",
            Format::Url => "https://example.com/hook",
            Format::Uuid => "0b7e3f52-9c1d-4f6a-8e21-5d3c4b2a1908",
            Format::Slug => "my-first-post",
        }
    }

    /// A description for error messages, with an example.
    pub fn in_words(self) -> &'static str {
        match self {
            Format::Email => "an email address such as `ada@example.com`",
            Format::Phone => "a phone number such as `+15550100`, with 7 to 15 digits",
            Format::Url => "an http or https URL such as `https://example.com/hook`",
            Format::Uuid => "a UUID such as `0b7e3f52-9c1d-4f6a-8e21-5d3c4b2a1908`",
            Format::Slug => {
                "a slug such as `my-first-post`, of lower-case letters, digits and single hyphens"
            }
        }
    }

    /// Whether a text has this format. O(n); texts over the maximum length are rejected unread.
    pub fn matches(self, text: &str) -> bool {
        let is_short = text.len() as u64 <= self.length_max();
        let index = Format::ALL.iter().position(|format| *format == self);
        let pattern = index.and_then(|index| COMPILED[index].as_ref());
        is_short && pattern.is_some_and(|pattern| pattern.is_match(text))
    }
}

impl FormatRule {
    /// Every format that it can require.
    pub fn formats(&self) -> Vec<Format> {
        match &self.choice {
            FormatChoice::Always(format) => vec![*format],
            FormatChoice::By(_, formats) => formats.iter().map(|(_, format)| *format).collect(),
        }
    }
}
