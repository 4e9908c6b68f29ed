//! What a caller wants to happen to one entity. `admit` applies it.

use keyloom_model::{Entity, EntityKey};
use keyloom_value::Item;

use crate::change::Author;
use crate::import::Existing;

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
