//! What a caller wants to happen to one entity. `admit` applies it.

use keyloom_model::{Entity, EntityKey};
use keyloom_value::Item;

/// What a caller wants to happen to one entity.
#[derive(Clone, Debug)]
pub(crate) enum Intent {
    /// Create it.
    Create { key: EntityKey, document: Item, author: Author },
    /// Change some fields.
    Update { key: EntityKey, patch: Item, expected: Option<String>, author: Author },
    /// Replace all fields.
    Put { key: EntityKey, document: Item, expected: Option<String>, author: Author },
    /// Create or replace it with this id, even if ids of its kind are generated.
    Import { key: EntityKey, document: Item, existing: Existing },
    /// Delete it.
    Delete { key: EntityKey, expected: Option<String> },
    /// Delete it if it has expired.
    Expire { key: EntityKey },
}

/// Who makes a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The program that owns the database: it can set every field.
    Service,
    /// A client of the program, which cannot set read-only fields.
    Client,
}

/// What to do with an entry whose id exists already, with other fields.
///
/// [`Db::import`](crate::Db::import) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Keep the entity, and return an error.
    Keep,
    /// Replace its fields with those of the entry.
    Replace,
}

impl Intent {
    pub(crate) fn key(&self) -> &EntityKey {
        match self {
            Intent::Create { key, .. }
            | Intent::Update { key, .. }
            | Intent::Put { key, .. }
            | Intent::Import { key, .. }
            | Intent::Delete { key, .. }
            | Intent::Expire { key } => key,
        }
    }

    /// Whether it changes values relative to those before, such as a number that is added to.
    pub(crate) fn is_relative(&self) -> bool {
        match self {
            Intent::Update { patch, .. } => Entity::is_relative(patch),
            Intent::Create { .. }
            | Intent::Put { .. }
            | Intent::Import { .. }
            | Intent::Delete { .. }
            | Intent::Expire { .. } => false,
        }
    }

    /// Whether it deletes the entity.
    pub(crate) fn is_deletion(&self) -> bool {
        matches!(self, Intent::Delete { .. } | Intent::Expire { .. })
    }
}
