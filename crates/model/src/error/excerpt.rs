//! The line of the source that an error shows. Bounded: a hostile file can have one line of 1 MiB.

use crate::source::{Position, Source, Span};

/// Characters of a line that are shown.
const WIDTH_MAX: usize = 100;
/// Characters shown before the place, when the line is cut.
const LEAD: usize = 40;

/// A piece of one line, and what is underlined in it.
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
        let mut shown: String = line.chars().skip(skipped).take(WIDTH_MAX).map(printable).collect();
        let is_cut = line.chars().nth(skipped + WIDTH_MAX).is_some();
        let mut indent = before - skipped;
        if skipped > 0 {
            shown.insert_str(0, "...");
            indent += 3;
        }
        let room = shown.chars().count().saturating_sub(indent);
        if is_cut {
            shown.push_str("...");
        }
        let width = source.width(span).min(room).max(1);
        Excerpt { text: shown, indent, width }
    }

    pub(crate) fn underline(&self) -> String {
        format!("{}{}", " ".repeat(self.indent), "^".repeat(self.width))
    }
}

/// A tab would move the line away from its underline; other control characters could do worse.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}
