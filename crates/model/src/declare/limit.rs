//! Limits on the number of declarations.

use crate::error::{Code, Reporter};
use crate::parse::{Entry, Node};
use crate::source::Span;

/// Maximum number of uniques, lists, counts, boards, tags and combinations of an entity, each.
pub(crate) const DECLARATIONS_MAX: usize = 200;

/// Returns at most `max` of the entries, and reports the first one over the limit.
pub(crate) fn limited<'e, T: Spanned>(
    entries: &'e [T],
    (what, max): (&str, usize),
    reporter: &mut Reporter<'_>,
) -> &'e [T] {
    let Some(first_over) = entries.get(max) else { return entries };
    let reason = format!("{} {what}; the limit is {max}", entries.len());
    reporter.report(Code::TooMany, first_over.span(), reason);
    &entries[..max]
}

/// A part of the file with a span.
pub(crate) trait Spanned {
    fn span(&self) -> Span;
}

impl Spanned for Entry {
    fn span(&self) -> Span {
        self.key.span
    }
}

impl Spanned for Node {
    fn span(&self) -> Span {
        self.span
    }
}
