//! The text of a model file, and positions in it. Knows nothing about its meaning.

/// A range of the source, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span { start, end: end.max(start) }
    }

    /// The span from the start of this one to the end of the other.
    pub(crate) fn to(self, end: Span) -> Span {
        Span::new(self.start, end.end)
    }
}

/// A name or value in the source, with its span.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// The source text, with the starts of its lines computed once.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
}

/// A position as editors count it: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: &'a str) -> Source<'a> {
        let after_breaks = text.match_indices('\n').map(|(offset, _)| offset + 1);
        Source { text, line_starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// The position of an offset. An offset past the end or inside a character is moved back to the
    /// nearest boundary.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = self.boundary(offset);
        let line = self.line_of(offset);
        let start = self.line_starts[line - 1];
        Position { line, column: self.text[start..offset].chars().count() + 1 }
    }

    /// The line of an offset.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// A line without its terminator; lines are counted from 1.
    pub(crate) fn line(&self, line: usize) -> &'a str {
        let start = self.line_starts[line - 1];
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The number of characters of the span on its first line.
    pub(crate) fn width(&self, span: Span) -> usize {
        let start = self.boundary(span.start);
        let end = self.boundary(span.end).max(start);
        self.text[start..end].split(['\n', '\r']).next().map_or(0, |line| line.chars().count())
    }

    /// The nearest character boundary at or before an offset.
    fn boundary(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }

    /// The text of a span.
    pub(crate) fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or("")
    }
}
