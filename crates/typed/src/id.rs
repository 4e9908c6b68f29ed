//! Ids that know what they are the id of.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use keyloom::Value;

/// The id of an entity of one kind.
pub struct Id<E> {
    text: String,
    of: PhantomData<fn() -> E>,
}

impl<E> Id<E> {
    /// The id with this text, which need not be that of an existing entity.
    pub fn new(text: impl Into<String>) -> Id<E> {
        Id { text: text.into(), of: PhantomData }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

// Derived, these would require the same of the entity.

impl<E> Clone for Id<E> {
    fn clone(&self) -> Id<E> {
        Id::new(self.text.clone())
    }
}

impl<E> fmt::Debug for Id<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl<E> fmt::Display for Id<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<E> PartialEq for Id<E> {
    fn eq(&self, other: &Id<E>) -> bool {
        self.text == other.text
    }
}

impl<E> Eq for Id<E> {}

impl<E> PartialOrd for Id<E> {
    fn partial_cmp(&self, other: &Id<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Id<E> {
    fn cmp(&self, other: &Id<E>) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl<E> Hash for Id<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl<E> From<&Id<E>> for Id<E> {
    fn from(id: &Id<E>) -> Id<E> {
        id.clone()
    }
}

impl<E> From<Id<E>> for Value {
    fn from(id: Id<E>) -> Value {
        Value::S(id.text)
    }
}

impl<E> From<&Id<E>> for Value {
    fn from(id: &Id<E>) -> Value {
        Value::S(id.text.clone())
    }
}
