//! Cursors that belong to one declared query.

use std::fmt;
use std::marker::PhantomData;

/// A position in the pages of the query `Q`. It is a text, which clients of a program can keep.
pub struct Cursor<Q> {
    text: String,
    of: PhantomData<fn() -> Q>,
}

impl<Q> Cursor<Q> {
    /// The cursor with this text. The database refuses the cursor of another query, and of the same one with
    /// other values.
    pub fn new(text: impl Into<String>) -> Cursor<Q> {
        Cursor { text: text.into(), of: PhantomData }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn some(text: Option<String>) -> Option<Cursor<Q>> {
        text.map(Cursor::new)
    }
}

// Derived, these would require the same of the query.

impl<Q> Clone for Cursor<Q> {
    fn clone(&self) -> Cursor<Q> {
        Cursor::new(self.text.clone())
    }
}

impl<Q> fmt::Debug for Cursor<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl<Q> fmt::Display for Cursor<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<Q> PartialEq for Cursor<Q> {
    fn eq(&self, other: &Cursor<Q>) -> bool {
        self.text == other.text
    }
}

impl<Q> Eq for Cursor<Q> {}
