//! References to entities that exist, or that the same transaction creates.

use std::fmt;

use crate::Id;

/// What a reference can be set to.
pub enum Reference<E> {
    /// The entity with this id.
    Id(Id<E>),
    /// The entity that an earlier change of the same transaction creates under this name
    /// ([`Change::named`](crate::Change::named)).
    Named(String),
}

// Derived, these would require the same of the entity.

impl<E> Clone for Reference<E> {
    fn clone(&self) -> Reference<E> {
        match self {
            Reference::Id(id) => Reference::Id(id.clone()),
            Reference::Named(name) => Reference::Named(name.clone()),
        }
    }
}

impl<E> fmt::Debug for Reference<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Id(id) => id.fmt(f),
            Reference::Named(name) => f.debug_tuple("Named").field(name).finish(),
        }
    }
}

impl<E> PartialEq for Reference<E> {
    fn eq(&self, other: &Reference<E>) -> bool {
        match (self, other) {
            (Reference::Id(left), Reference::Id(right)) => left == right,
            (Reference::Named(left), Reference::Named(right)) => left == right,
            (Reference::Id(_) | Reference::Named(_), _) => false,
        }
    }
}

impl<E> Eq for Reference<E> {}

impl<E> From<Id<E>> for Reference<E> {
    fn from(id: Id<E>) -> Reference<E> {
        Reference::Id(id)
    }
}

impl<E> From<&Id<E>> for Reference<E> {
    fn from(id: &Id<E>) -> Reference<E> {
        Reference::Id(id.clone())
    }
}

impl<E> From<&Reference<E>> for Reference<E> {
    fn from(reference: &Reference<E>) -> Reference<E> {
        reference.clone()
    }
}
