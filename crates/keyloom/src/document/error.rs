//! What can be wrong with a document before a model checks it.

use std::fmt::{self, Display};

use keyloom_json::JsonFault;
use keyloom_value::{Name, NumberError, Path, Step};

use super::DEPTH_MAX;

/// The number of characters that an error quotes of a user's text.
const EXCERPT_LENGTH_MAX: usize = 200;

/// Why a document is invalid, or does not fit the requested type.
///
/// Its `Display` is a sentence without its full stop: where, what is wrong, and how to fix it.
///
/// ```
/// use keyloom::json_to_item;
///
/// let error = json_to_item(b"{\n  \"name\": cook\n}").expect_err("a text has quotes");
/// assert_eq!(error.line_and_column(), Some((2, 11)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DocumentError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    fault: Fault,
    /// From the innermost to the outermost, in the order in which an error passes them.
    steps: Vec<Step>,
    position: Option<Position>,
}

/// A position in a text, counted from 1; columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    line: usize,
    column: usize,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text is not JSON, or exceeds the limits of a document.
    Json(JsonFault),
    /// An object contains a name twice.
    Twice { name: String },
    /// Lists and maps are nested too deep.
    TooDeep,
    /// The document is not an object.
    NotAnObject,
    /// The number cannot be stored.
    Number(NumberError),
    /// A float is infinite or not a number.
    NotFinite,
    /// A key of a map is not a text.
    NameNotText,
    /// The requested type would have to round the number.
    Inexact { number: String, asked: &'static str },
    /// A message of the type that is serialized or deserialized.
    Custom(String),
}

impl DocumentError {
    pub(super) fn new(fault: Fault) -> DocumentError {
        DocumentError(Box::new(Details { fault, steps: vec![], position: None }))
    }

    /// Adds the position in the text.
    pub(super) fn at(mut self, position: Position) -> DocumentError {
        self.0.position = Some(position);
        self
    }

    /// Adds the name under which a map contains the value.
    pub(super) fn in_member(mut self, name: impl Into<Name>) -> DocumentError {
        self.0.steps.push(Step::Member(name.into()));
        self
    }

    /// Adds the index at which a list contains the value.
    pub(super) fn in_element(mut self, index: usize) -> DocumentError {
        self.0.steps.push(Step::Element(index));
        self
    }

    /// Returns the invalid field, such as `address.lines[2]`; none if it is the whole document.
    pub fn path(&self) -> Option<Path> {
        let mut steps = self.0.steps.iter().rev();
        let root = match steps.next() {
            Some(Step::Member(name)) => Path::from(name.clone()),
            Some(Step::Element(_)) | None => return None,
        };
        Some(steps.fold(root, |path, step| match step {
            Step::Member(name) => path.member(name),
            Step::Element(index) => path.element(*index),
        }))
    }

    /// Returns line and column, counted from 1, if the document was read from a text.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        self.0.position.map(|position| (position.line, position.column))
    }
}

impl Position {
    /// Returns the position of a byte in a text that is UTF-8 up to there.
    pub(super) fn of(text: &[u8], offset: usize) -> Position {
        let before = &text[..offset.min(text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let is_start_of_character = |byte: &&u8| **byte & 0xC0 != 0x80;
        Position {
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: before[line_start..].iter().filter(is_start_of_character).count() + 1,
        }
    }
}

impl serde::ser::Error for DocumentError {
    fn custom<T: Display>(message: T) -> DocumentError {
        DocumentError::new(Fault::Custom(message.to_string()))
    }
}

impl serde::de::Error for DocumentError {
    fn custom<T: Display>(message: T) -> DocumentError {
        DocumentError::new(Fault::Custom(message.to_string()))
    }
}

impl Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.0.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        if let Some(path) = self.path() {
            let path = cut(&path.to_string());
            let quote = if path.contains('`') { "" } else { "`" };
            write!(f, "{quote}{path}{quote}: ")?;
        }
        self.0.fault.fmt(f)
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotUtf8 => f.write_str("invalid UTF-8; encode JSON as UTF-8"),
            Fault::Json(fault) => fault.fmt(f),
            Fault::Twice { name } => {
                write!(f, "duplicate name `{}`; remove one of them", cut(name))
            }
            Fault::TooDeep => {
                write!(f, "this is nested more than {DEPTH_MAX} deep; make it flatter")
            }
            Fault::NotAnObject => f.write_str("expected an object"),
            Fault::Number(error) => error.fmt(f),
            Fault::NotFinite => f.write_str("infinity and NaN are not supported; omit them"),
            Fault::NameNotText => f.write_str("a key of a map is not a text; convert it to one"),
            Fault::Inexact { number, asked } => {
                write!(f, "{number} does not fit into {asked}; use a type that can represent it")
            }
            Fault::Custom(message) => f.write_str(&cut(message)),
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
