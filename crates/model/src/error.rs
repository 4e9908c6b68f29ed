//! What can be wrong with a model file, and how it is told: code, place, excerpt, reason, help.

mod code;
mod excerpt;
mod reporter;

use std::fmt;

pub use code::Code;
use excerpt::Excerpt;
pub(crate) use reporter::{Report, Reporter};

/// One thing that is wrong with a model file.
///
/// Its `Display` is several lines of text for a person: what is wrong, the line it is in with the
/// place underlined, and what to do. Programs go by [`code`](ModelError::code).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ModelError {
    code: Code,
    reason: String,
    help: Option<String>,
    line: usize,
    column: usize,
    excerpt: Excerpt,
}

impl ModelError {
    /// What kind of error this is; codes never change their meaning.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, counted from 1 in characters. It may be one past the end of the line.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong, in one sentence without its full stop.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What to do about it.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The whole message; `place` is what stands before line and column.
    fn write(&self, f: &mut dyn fmt::Write, place: &str) -> fmt::Result {
        let gutter = " ".repeat(self.line.to_string().len());
        writeln!(f, "error[{}]: {}", self.code, self.reason)?;
        writeln!(f, "{gutter}--> {place}{}:{}", self.line, self.column)?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{} | {}", self.line, self.excerpt.text)?;
        write!(f, "{gutter} | {}", self.excerpt.underline())?;
        if let Some(help) = &self.help {
            write!(f, "\n{gutter} = help: {help}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}

/// All errors of one file as text for a person, with the name of the file in each.
pub fn render(errors: &[ModelError], file_name: &str) -> String {
    let place = format!("{file_name}:");
    let mut text = String::new();
    for error in errors {
        // Writing to a `String` cannot fail.
        let _ = error.write(&mut text, &place);
        text.push_str("\n\n");
    }
    let noun = if errors.len() == 1 { "error" } else { "errors" };
    text.push_str(&format!("{file_name}: {} {noun}\n", errors.len()));
    text
}
