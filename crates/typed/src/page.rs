//! Pages of declared queries.

use std::fmt;

use keyloom::{End, ReadCost};

use crate::Cursor;

/// A page of the query `Q`.
pub struct Page<T, Q> {
    /// In the requested order.
    pub items: Vec<T>,
    /// The cursor of the next page; absent on the last page.
    pub next: Option<Cursor<Q>>,
    /// The cursor of the previous page; absent on the first page, and on pages of other queries than lists.
    pub previous: Option<Cursor<Q>>,
    /// Why the page ends here.
    pub end: End,
    /// What was read for it.
    pub read: ReadCost,
}

impl<T, Q> Page<T, Q> {
    /// A page of a query without previous pages.
    pub(crate) fn forward(items: Vec<T>, next: Option<String>, read: ReadCost) -> Page<T, Q> {
        let end = if next.is_some() { End::Limit } else { End::Exhausted };
        Page { items, next: Cursor::some(next), previous: None, end, read }
    }
}

// Derived, these would require the same of the query.

impl<T: Clone, Q> Clone for Page<T, Q> {
    fn clone(&self) -> Page<T, Q> {
        Page {
            items: self.items.clone(),
            next: self.next.clone(),
            previous: self.previous.clone(),
            end: self.end,
            read: self.read,
        }
    }
}

impl<T: fmt::Debug, Q> fmt::Debug for Page<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("items", &self.items)
            .field("next", &self.next)
            .field("previous", &self.previous)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
