//! What can be wrong with a document, and the sentence that tells it.

use std::fmt::{self, Display};

use keyloom_value::{Number, Path, ValueType};

use crate::describe;
use crate::model::{Field, Format, Limits};

/// Characters of a user's text that an error repeats.
const EXCERPT_LENGTH_MAX: usize = 60;
/// Characters of a path that an error repeats.
const PATH_LENGTH_MAX: usize = 200;
/// Members of an enum that an error lists.
const MEMBERS_LISTED_MAX: usize = 20;

/// One thing that is wrong with a document.
///
/// Its `Display` is a sentence for a person, without its full stop: what is wrong, where, and
/// what to do. Programs go by [`kind`](FieldError::kind).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FieldError {
    path: Path,
    kind: Box<FieldErrorKind>,
}

/// What is wrong with a field. To recover, give another value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldErrorKind {
    /// The entity has no such field.
    Unknown {
        /// The entity.
        entity: String,
        /// The field that was probably meant.
        meant: Option<String>,
    },
    /// `id` and `version` are no fields that a document sets.
    Reserved,
    /// A required field is not there.
    Missing {
        /// What to give.
        expected: String,
    },
    /// A required field is null.
    Null {
        /// What to give.
        expected: String,
    },
    /// A required field is null, and has a default for when it is left out.
    NullForDefault {
        /// What to give.
        expected: String,
    },
    /// The value is of another type.
    WrongType {
        /// What to give.
        expected: String,
        /// What was given.
        found: ValueType,
    },
    /// An int has a fraction.
    NotWhole {
        /// What was given.
        found: Number,
    },
    /// A number is outside of its range.
    OutOfRange {
        /// The range.
        limits: Limits<Number>,
        /// What was given.
        found: Number,
    },
    /// Something is too long or too short.
    Length {
        /// What is counted.
        unit: LengthUnit,
        /// How many there may be.
        limits: Limits<u64>,
        /// How many there are.
        found: u64,
    },
    /// A text or number is no moment of the years 0000 to 9999.
    NotATime {
        /// What was given, cut if it is long.
        found: String,
    },
    /// A text for bytes is not base64.
    NotBase64,
    /// A text is none of the words of an enum.
    NotAMember {
        /// What was given, cut if it is long.
        found: String,
        /// The words.
        members: Vec<String>,
        /// The word that was probably meant.
        meant: Option<String>,
    },
    /// A text can be no id.
    NotAnId {
        /// What was given, cut if it is long.
        found: String,
    },
    /// A text has not the format of its field.
    NotInFormat {
        /// The format.
        format: Format,
        /// What was given, cut if it is long.
        found: String,
    },
    /// The field is read-only, and this is not the value that it has.
    ReadOnly,
    /// Lists and maps are nested too deep.
    TooDeep {
        /// How deep they may be.
        depth_max: usize,
    },
}

/// What a length counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// The characters of a text.
    Characters,
    /// Bytes; of a text in UTF-8.
    Bytes,
    /// The values in a list or map.
    Values,
    /// The bytes in UTF-8 of a name in a map, or of the key of a tag.
    NameBytes,
}

impl FieldError {
    pub(super) fn new(path: Path, kind: FieldErrorKind) -> FieldError {
        FieldError { path, kind: Box::new(kind) }
    }

    /// Where it is, such as `address.lines[2]`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is.
    pub fn kind(&self) -> &FieldErrorKind {
        &self.kind
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = cut(&self.path.to_string(), PATH_LENGTH_MAX);
        // A path that is quoted already needs no second pair.
        let at = if path.contains('`') { path } else { format!("`{path}`") };
        match self.kind() {
            FieldErrorKind::Unknown { entity, meant: Some(meant) } => {
                write!(f, "`{entity}` has no field {at}; did you mean `{meant}`?")
            }
            FieldErrorKind::Unknown { entity, meant: None } => {
                write!(f, "`{entity}` has no field {at}; leave it out, or add it to the model")
            }
            FieldErrorKind::Reserved => {
                write!(f, "{at} is not set with the fields; leave it out here")
            }
            FieldErrorKind::Missing { expected } => write!(f, "{at} is missing; give {expected}"),
            FieldErrorKind::Null { expected } => {
                write!(f, "{at} must be there and cannot be null; give {expected}")
            }
            FieldErrorKind::NullForDefault { expected } => {
                write!(f, "{at} must be there and cannot be null; leave it out, or give {expected}")
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
                write_length(f, &at, (*unit, limits, *found))
            }
            FieldErrorKind::NotATime { found } => write!(
                f,
                "{at} must be a time such as `2024-02-29T12:00:00Z`, or whole milliseconds since \
                 1970, in the years 0000 to 9999, and this is `{found}`"
            ),
            FieldErrorKind::NotBase64 => {
                write!(
                    f,
                    "{at} must be bytes as base64, such as `aGVsbG8=`, and this is not base64"
                )
            }
            FieldErrorKind::NotAMember { found, members, meant } => {
                write!(f, "{at} must be one of {}, and this is `{found}`", listed(members))?;
                meant.iter().try_for_each(|meant| write!(f, "; did you mean `{meant}`?"))
            }
            FieldErrorKind::NotAnId { found } => write!(
                f,
                "{at} must be an id, which has 1 to 256 bytes, no control characters, and is not \
                 `.` or `..`, and this is `{found}`"
            ),
            FieldErrorKind::NotInFormat { format, found } => {
                write!(f, "{at} must be {}, and this is `{found}`", format.in_words())
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

/// What is wrong about a null for a required field.
pub(super) fn expected_null(field: &Field) -> FieldErrorKind {
    let expected = describe::value_of(&field.of);
    match field.default {
        Some(_) => FieldErrorKind::NullForDefault { expected },
        None => FieldErrorKind::Null { expected },
    }
}

/// The beginning of a user's text, with control characters made visible.
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

fn write_length(
    f: &mut fmt::Formatter<'_>,
    at: &str,
    (unit, limits, found): (LengthUnit, &Limits<u64>, u64),
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
