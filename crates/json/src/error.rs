//! Errors of reading JSON.

use std::fmt::{self, Display};

/// An error in a text, and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {fault}")]
pub struct JsonError {
    /// Its byte offset; always at the start of a character.
    pub offset: usize,
    /// What is wrong.
    pub fault: JsonFault,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonFault {
    /// Something else was expected here.
    #[error("expected {what}, found {}", Found(*.found))]
    Expected {
        /// What was expected.
        what: &'static str,
        /// The character found; `None` at the end of the text.
        found: Option<char>,
    },
    /// A string contains an unescaped control character.
    #[error("a string contains a control character; escape it as `\\n` or `\\u0000`")]
    ControlCharacter,
    /// Half of a UTF-16 surrogate pair is escaped without the other.
    #[error("unpaired surrogate; escape both halves, or write the character itself")]
    LoneSurrogate,
    /// Lists and objects are nested too deep.
    #[error("this is nested more than {depth_max} deep; make it flatter")]
    TooDeep {
        /// The limit.
        depth_max: usize,
    },
    /// There are more values than the caller accepts.
    #[error("there are more than {values_max} values up to here; send fewer at a time")]
    TooManyValues {
        /// The limit.
        values_max: usize,
    },
}

struct Found(Option<char>);

impl Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(found) => write!(f, "`{}`", found.escape_debug()),
            None => f.write_str("the end of the text"),
        }
    }
}
