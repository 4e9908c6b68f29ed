//! Limits on the number of declarations.

use super::keyed_value::KeyedValue;
use crate::error::{Code, Reporter};
use crate::parse::Entry;
use crate::source::{Span, Word};

/// Maximum number of uniques, lists, counts, boards, tags and combinations of an entity, each.
pub(crate) const DECLARATIONS_MAX: usize = 200;

/// How many declarations of one kind there can be.
pub(crate) struct Limit<'w> {
    /// The declarations, in the plural, for messages.
    pub(crate) what: &'w str,
    pub(crate) max: usize,
}

impl Limit<'_> {
    /// Returns at most `max` of the entries, and reports the first one over the limit.
    pub(crate) fn apply<'e, T: Spanned>(
        &self,
        entries: &'e [T],
        reporter: &mut Reporter<'_>,
    ) -> &'e [T] {
        let Limit { what, max } = *self;
        let Some(first_over) = entries.get(max) else { return entries };
        let reason = format!("{} {what}; the limit is {max}", entries.len());
        reporter.report(Code::TooMany, first_over.span(), reason);
        &entries[..max]
    }
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

impl Spanned for Word {
    fn span(&self) -> Span {
        self.span
    }
}

impl Spanned for KeyedValue<'_> {
    fn span(&self) -> Span {
        self.node.span
    }
}
