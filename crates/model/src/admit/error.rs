//! Errors of documents, and their messages.

use std::fmt::{self, Display};

use keyloom_value::{Number, Path, ValueType};

use crate::model::{Field, Format, Limits};

/// Maximum length of a quoted text, in characters.
const EXCERPT_LENGTH_MAX: usize = 60;
/// Maximum length of a quoted path, in characters.
const PATH_LENGTH_MAX: usize = 200;
/// Maximum number of enum members that a message lists.
const MEMBERS_LISTED_MAX: usize = 20;
const NOT_BASE64: &str = "must be bytes as base64, such as `aGVsbG8=`, and this is not base64";

/// An error of a document.
///
/// Its `Display` is a sentence for people, without the full stop: what is wrong, where, and how to
/// fix it. Programs use [`kind`](FieldError::kind).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FieldError {
    path: Path,
    kind: Box<FieldErrorKind>,
}

/// What is wrong with a field. To recover, send another value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldErrorKind {
    /// The entity has no such field.
    Unknown {
        /// The entity.
        entity: String,
        /// A field with a similar name.
        meant: Option<String>,
    },
    /// A document sets `id` or `version`, which are not fields.
    Reserved,
    /// A required field is missing.
    Missing {
        /// What a valid value looks like.
        expected: String,
    },
    /// A required field is null.
    Null {
        /// What a valid value looks like.
        expected: String,
    },
    /// A required field is null; it has a default if it is omitted.
    NullForDefault {
        /// What a valid value looks like.
        expected: String,
    },
    /// The value has the wrong type.
    WrongType {
        /// What a valid value looks like.
        expected: String,
        /// The type of the value.
        found: ValueType,
    },
    /// An int has a fraction.
    NotWhole {
        /// The value.
        found: Number,
    },
    /// A number is out of range.
    OutOfRange {
        /// The range.
        limits: Limits<Number>,
        /// The value.
        found: Number,
    },
    /// A value is too long or too short.
    Length {
        /// What is counted.
        unit: LengthUnit,
        /// The allowed number.
        limits: Limits<u64>,
        /// The actual number.
        found: u64,
    },
    /// A text or number is not a time in the years 0000 to 9999.
    NotATime {
        /// The value, truncated if it is long.
        found: String,
    },
    /// A text for bytes is not base64.
    NotBase64,
    /// A text is not a member of an enum.
    NotAMember {
        /// The value, truncated if it is long.
        found: String,
        /// The members.
        members: Vec<String>,
        /// A member with a similar name.
        meant: Option<String>,
    },
    /// A text is not a valid id.
    NotAnId {
        /// The value, truncated if it is long.
        found: String,
    },
    /// A text does not have the format of its field.
    NotInFormat {
        /// The format.
        format: Format,
        /// The value, truncated if it is long.
        found: String,
    },
    /// A text does not match the pattern of its field.
    NotMatching {
        /// The pattern.
        pattern: String,
        /// The value, truncated if it is long.
        found: String,
    },
    /// The texts of a search have too many different words.
    TooManyWords {
        /// The name of the search.
        search: String,
        /// The greatest number of words and prefixes.
        max: usize,
    },
    /// No new entity can have this value of an enum.
    NotInitial {
        /// The value.
        found: String,
        /// What it can be.
        initial: Vec<String>,
    },
    /// The value of an enum cannot change in this way.
    NoTransition {
        /// The value before.
        from: String,
        /// The new value.
        to: String,
        /// What it can change to.
        allowed: Vec<String>,
    },
    /// A patch adds to a number, and the exact sum has more than 38 digits.
    SumTooLong {
        /// What it adds.
        addend: Number,
    },
    /// No earlier change of the transaction has the name that stands for an id.
    NotNamed {
        /// The name, truncated if it is long.
        name: String,
    },
    /// The name that stands for the id in a reference is that of another kind of entity.
    OtherEntity {
        /// The name, truncated if it is long.
        name: String,
        /// The kind that the field refers to.
        expected: String,
        /// The kind that has the name.
        found: String,
    },
    /// The field is read-only, and the value differs from its current one.
    ReadOnly,
    /// Lists and maps are nested too deep.
    TooDeep {
        /// The maximum depth.
        depth_max: usize,
    },
}

/// What a length counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// The characters of a text.
    Characters,
    /// Bytes; of a text, in UTF-8.
    Bytes,
    /// The values in a list or map.
    Values,
    /// The UTF-8 bytes of a name in a map, or of a tag key.
    NameBytes,
}

impl FieldError {
    pub(super) fn new(path: Path, kind: FieldErrorKind) -> FieldError {
        FieldError { path, kind: Box::new(kind) }
    }

    /// The path of the value, such as `address.lines[2]`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong with the value.
    pub fn kind(&self) -> &FieldErrorKind {
        &self.kind
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = cut(&self.path.to_string(), PATH_LENGTH_MAX);
        // A path with quoted names is not quoted again.
        let at = if path.contains('`') { path } else { format!("`{path}`") };
        match self.kind() {
            FieldErrorKind::Unknown { entity, meant: Some(meant) } => {
                write!(f, "`{entity}` has no field {at}; did you mean `{meant}`?")
            }
            FieldErrorKind::Unknown { entity, meant: None } => {
                write!(f, "`{entity}` has no field {at}; leave it out, or add it to the model")
            }
            FieldErrorKind::Reserved => {
                write!(f, "{at} is not a field; leave it out here")
            }
            FieldErrorKind::Missing { expected } => write!(f, "{at} is missing; give {expected}"),
            FieldErrorKind::Null { expected } => {
                write!(f, "{at} is required and cannot be null; give {expected}")
            }
            FieldErrorKind::NullForDefault { expected } => {
                write!(f, "{at} is required and cannot be null; leave it out, or give {expected}")
            }
            FieldErrorKind::WrongType { expected, found } => {
                write!(f, "{at} must be {expected}, and this is {}", noun(*found))
            }
            FieldErrorKind::NotWhole { found } => {
                write!(f, "{at} must be a whole number, and this is {found}")
            }
            FieldErrorKind::OutOfRange { limits, found } => {
                write!(f, "{at} must be {}, and this is {found}", bounds(limits, "from "))
            }
            FieldErrorKind::Length { unit, limits, found } => {
                write_length(f, &at, *unit, limits, *found)
            }
            FieldErrorKind::NotATime { found } => write_not_a_time(f, &at, found),
            FieldErrorKind::NotBase64 => write!(f, "{at} {NOT_BASE64}"),
            FieldErrorKind::NotAMember { found, members, meant } => {
                write!(f, "{at} must be one of {}, and this is `{found}`", listed(members))?;
                meant.iter().try_for_each(|meant| write!(f, "; did you mean `{meant}`?"))
            }
            FieldErrorKind::NotAnId { found } => write_not_an_id(f, &at, found),
            FieldErrorKind::NotInFormat { format, found } => {
                write!(f, "{at} must be {}, and this is `{found}`", format.in_words())
            }
            FieldErrorKind::NotMatching { pattern, found } => {
                write!(f, "{at} must match the pattern `{pattern}`, and this is `{found}`")
            }
            FieldErrorKind::TooManyWords { search, max } => {
                write_too_many_words(f, &at, search, *max)
            }
            FieldErrorKind::NotInitial { found, initial } => {
                write!(f, "{at} cannot be `{found}` in a new entity; it can be {}", listed(initial))
            }
            FieldErrorKind::NoTransition { from, to, allowed } => {
                write!(f, "{at} cannot change from `{from}` to `{to}`; {}", can_become(allowed))
            }
            FieldErrorKind::SumTooLong { addend } => write_sum_too_long(f, &at, addend),
            FieldErrorKind::NotNamed { name } => write_not_named(f, &at, name),
            FieldErrorKind::OtherEntity { name, expected, found } => {
                let problem = format!("must refer to a `{expected}`");
                write!(f, "{at} {problem}, and `{name}` is the name of a `{found}`")
            }
            FieldErrorKind::ReadOnly => {
                write!(f, "{at} is read-only; leave it out, or send its current value")
            }
            FieldErrorKind::TooDeep { depth_max } => {
                write!(f, "{at} is nested more than {depth_max} deep; make it flatter")
            }
        }
    }
}

/// The error of a null in a required field.
pub(super) fn null_error(field: &Field) -> FieldErrorKind {
    let expected = field.of.in_words();
    match field.default {
        Some(_) => FieldErrorKind::NullForDefault { expected },
        None => FieldErrorKind::Null { expected },
    }
}

/// The beginning of a user's text, with control characters replaced.
pub(super) fn excerpt(text: &str) -> String {
    let visible = |c: char| if c.is_control() { '\u{FFFD}' } else { c };
    cut(text, EXCERPT_LENGTH_MAX).chars().map(visible).collect()
}

fn cut(text: &str, length_max: usize) -> String {
    match text.char_indices().nth(length_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn write_too_many_words(
    f: &mut fmt::Formatter<'_>,
    at: &str,
    search: &str,
    max: usize,
) -> fmt::Result {
    write!(
        f,
        "{at} has too many words: the texts of the search `{search}` may have {max} different words \
         and beginnings of words in all"
    )
}

fn write_not_a_time(f: &mut fmt::Formatter<'_>, at: &str, found: &str) -> fmt::Result {
    write!(
        f,
        "{at} must be a time such as `2024-02-29T12:00:00Z`, or whole milliseconds since 1970, in \
         the years 0000 to 9999, and this is `{found}`"
    )
}

fn write_not_an_id(f: &mut fmt::Formatter<'_>, at: &str, found: &str) -> fmt::Result {
    write!(
        f,
        "{at} must be an id, which has 1 to 256 bytes, no control characters, and is not `.` or \
         `..`, and this is `{found}`"
    )
}

fn can_become(allowed: &[String]) -> String {
    match allowed {
        [] => "it is final".to_owned(),
        allowed => format!("it can change to {}", listed(allowed)),
    }
}

fn write_sum_too_long(f: &mut fmt::Formatter<'_>, at: &str, addend: &Number) -> fmt::Result {
    write!(
        f,
        "{at} is {addend}, and the exact sum would have more than 38 digits; add less, or a number \
         with fewer decimals"
    )
}

fn write_not_named(f: &mut fmt::Formatter<'_>, at: &str, name: &str) -> fmt::Result {
    write!(
        f,
        "{at} refers to `{name}`, and no change before this one has that name; name the change of \
         that entity, and put it first"
    )
}

fn write_length(
    f: &mut fmt::Formatter<'_>,
    at: &str,
    unit: LengthUnit,
    limits: &Limits<u64>,
    found: u64,
) -> fmt::Result {
    let (one, many) = match unit {
        LengthUnit::Characters => ("character", "characters"),
        LengthUnit::Bytes | LengthUnit::NameBytes => ("byte", "bytes"),
        LengthUnit::Values => ("value", "values"),
    };
    let what = match unit {
        LengthUnit::Characters | LengthUnit::Bytes | LengthUnit::Values => "",
        LengthUnit::NameBytes => "the name of ",
    };
    let noun = if limits.high.or(limits.low) == Some(1) { one } else { many };
    write!(f, "{what}{at} must have {} {noun}, and this has {found}", bounds(limits, ""))
}

fn bounds<T: Display + PartialEq>(limits: &Limits<T>, from: &str) -> String {
    match (&limits.low, &limits.high) {
        (Some(low), Some(high)) if low == high => low.to_string(),
        (Some(low), Some(high)) => format!("{from}{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "anything".to_owned(),
    }
}

fn listed(members: &[String]) -> String {
    let first = &members[..members.len().min(MEMBERS_LISTED_MAX)];
    let rest = if first.len() < members.len() { ", …" } else { "" };
    format!("`{}`{rest}", first.join("`, `"))
}

fn noun(of: ValueType) -> &'static str {
    match of {
        ValueType::S => "a text",
        ValueType::N => "a number",
        ValueType::B => "bytes",
        ValueType::Bool => "true or false",
        ValueType::Null => "null",
        ValueType::L => "a list",
        ValueType::M => "a map",
        ValueType::Ss | ValueType::Ns | ValueType::Bs => "a set",
    }
}
