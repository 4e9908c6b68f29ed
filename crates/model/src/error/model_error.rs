//! Errors of model files, and their messages: code, position, excerpt, reason, help.

use std::fmt;

use super::code::Code;
use super::excerpt::Excerpt;

/// An error in a model file.
///
/// Its `Display` is several lines of text for people: what is wrong, the source line with the error
/// underlined, and how to fix it. Programs use [`code`](ModelError::code).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ModelError {
    pub(super) code: Code,
    pub(super) reason: String,
    pub(super) help: Option<String>,
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) excerpt: Excerpt,
}

impl ModelError {
    /// The kind of error; codes never change their meaning.
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

    /// How to fix it.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Writes the whole message; `prefix` precedes line and column.
    fn write(&self, f: &mut dyn fmt::Write, prefix: &str) -> fmt::Result {
        let gutter = " ".repeat(self.line.to_string().len());
        writeln!(f, "error[{}]: {}", self.code, self.reason)?;
        writeln!(f, "{gutter}--> {prefix}{}:{}", self.line, self.column)?;
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

/// Formats all errors of a file for people, each with the name of the file.
pub fn render(errors: &[ModelError], file_name: &str) -> String {
    let prefix = format!("{file_name}:");
    let mut text = String::new();
    for error in errors {
        // Writing to a `String` cannot fail.
        let _ = error.write(&mut text, &prefix);
        text.push_str("\n\n");
    }
    let noun = if errors.len() == 1 { "error" } else { "errors" };
    text.push_str(&format!("{file_name}: {} {noun}\n", errors.len()));
    text
}
