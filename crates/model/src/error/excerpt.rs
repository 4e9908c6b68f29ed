//! The source line that an error quotes. Bounded: a hostile file can have one line of 1 MiB.

use crate::source::{Position, Source, Span};

/// Maximum number of characters of a line that are quoted.
const WIDTH_MAX: usize = 100;
/// Characters quoted before the error, if the line is truncated.
const LEAD: usize = 40;

/// A part of one line, and which of it is underlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    indent: usize,
    width: usize,
}

impl Excerpt {
    pub(crate) fn new(source: &Source<'_>, span: Span, position: Position) -> Excerpt {
        let line = source.line(position.line);
        let before = position.column - 1;
        let is_long = line.chars().nth(WIDTH_MAX).is_some();
        let skipped = if is_long && before + LEAD > WIDTH_MAX { before - LEAD } else { 0 };
        let mut text: String = line.chars().skip(skipped).take(WIDTH_MAX).map(printable).collect();
        let is_cut = line.chars().nth(skipped + WIDTH_MAX).is_some();
        let mut indent = before - skipped;
        if skipped > 0 {
            text.insert_str(0, "...");
            indent += 3;
        }
        let room = text.chars().count().saturating_sub(indent);
        if is_cut {
            text.push_str("...");
        }
        let width = source.width(span).min(room).max(1);
        Excerpt { text, indent, width }
    }

    pub(crate) fn underline(&self) -> String {
        format!("{}{}", " ".repeat(self.indent), "^".repeat(self.width))
    }
}

/// A tab would misalign the underline; other control characters could confuse a terminal.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}
