//! Why a text is no JSON, or more of it than the caller takes.

use std::fmt::{self, Display};

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {fault}")]
pub struct JsonError {
    /// How many bytes come before it; always at the start of a character.
    pub offset: usize,
    /// What is wrong.
    pub fault: JsonFault,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonFault {
    /// The text ends, or goes on, with something else than this.
    #[error("expected {what}, found {}", Found(*.found))]
    Expected {
        /// What could have been there.
        what: &'static str,
        /// The character that is; none at the end of the text.
        found: Option<char>,
    },
    /// A control character stands in a text as it is.
    #[error("a text has a control character; write it as `\\n` or `\\u0000`")]
    ControlCharacter,
    /// Half of a pair of UTF-16 is escaped without the other.
    #[error("half of a character is escaped; write the other half after it, or the character")]
    LoneSurrogate,
    /// Lists and objects are nested too deep.
    #[error("this is nested more than {depth_max} deep; make it flatter")]
    TooDeep {
        /// How deep they may be.
        depth_max: usize,
    },
    /// There are more values than the caller takes.
    #[error("there are more than {values_max} values up to here; send fewer at a time")]
    TooManyValues {
        /// How many there may be.
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
