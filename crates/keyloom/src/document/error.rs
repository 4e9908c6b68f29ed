//! What can be wrong with a document before a model judges it.

use std::fmt::{self, Display};

use keyloom_json::JsonFault;
use keyloom_value::{Name, NumberError, Path, Step};

use super::DEPTH_MAX;

/// Characters of a user's text that an error repeats.
const EXCERPT_LENGTH_MAX: usize = 200;

/// Why something is no document, or why a document is not what was asked for.
///
/// Its `Display` is a sentence for a person, without its full stop: where, what is wrong, and what
/// to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DocumentError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    fault: Fault,
    /// From the innermost to the outermost, because that is how an error travels.
    steps: Vec<Step>,
    position: Option<Position>,
}

/// A place in a text, counted from 1; columns in characters.
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
    /// The text is no JSON, or more of it than a document may have.
    Json(JsonFault),
    /// A name is twice in one object.
    Twice { name: String },
    /// Lists and maps are nested too deep.
    TooDeep,
    /// The document has no fields, because it is something else than an object.
    NotAnObject,
    /// It is no number that can be stored.
    Number(NumberError),
    /// A float is infinite or not a number.
    NotFinite,
    /// A name in a map is no text.
    NameNotText,
    /// A number is asked for in a type that would have to round it.
    Inexact { number: String, asked: &'static str },
    /// What a type says that is serialized or deserialized.
    Custom(String),
}

impl DocumentError {
    pub(super) fn new(fault: Fault) -> DocumentError {
        DocumentError(Box::new(Details { fault, steps: vec![], position: None }))
    }

    /// The error with the place in the text where it is.
    pub(super) fn at(mut self, position: Position) -> DocumentError {
        self.0.position = Some(position);
        self
    }

    /// The error, seen from the map around it.
    pub(super) fn in_member(mut self, name: impl Into<Name>) -> DocumentError {
        self.0.steps.push(Step::Member(name.into()));
        self
    }

    /// The error, seen from the list around it.
    pub(super) fn in_element(mut self, index: usize) -> DocumentError {
        self.0.steps.push(Step::Element(index));
        self
    }

    /// The field that is at fault, such as `address.lines[2]`; nothing if it is the whole document.
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

    /// Line and column in the text, counted from 1, if it was read from one.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        self.0.position.map(|position| (position.line, position.column))
    }
}

impl Position {
    /// The place of a byte in a text of which everything before it is UTF-8.
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
            Fault::NotUtf8 => f.write_str("this is not UTF-8; JSON is text in UTF-8"),
            Fault::Json(fault) => fault.fmt(f),
            Fault::Twice { name } => {
                write!(f, "the name `{}` is there twice; leave one of them out", cut(name))
            }
            Fault::TooDeep => {
                write!(f, "this is nested more than {DEPTH_MAX} deep; make it flatter")
            }
            Fault::NotAnObject => f.write_str("this has no fields; a document is an object"),
            Fault::Number(error) => error.fmt(f),
            Fault::NotFinite => f.write_str("infinity and NaN are no numbers; leave them out"),
            Fault::NameNotText => f.write_str("a name in a map is no text; make it one"),
            Fault::Inexact { number, asked } => {
                write!(f, "{number} is no value of {asked}; take it as a type that can hold it")
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
