//! What a caller wants of one entity. What that makes of the entity is decided in `admit`.

use keyloom_model::EntityKey;
use keyloom_value::Item;

use crate::change::Author;
use crate::import::Existing;

/// What a caller wants of one entity.
#[derive(Clone, Debug)]
pub(crate) enum Intent {
    /// A new one.
    Create { key: EntityKey, document: Item, author: Author },
    /// Some fields become others.
    Update { key: EntityKey, patch: Item, expected: Option<String>, author: Author },
    /// All fields become these.
    Put { key: EntityKey, document: Item, expected: Option<String>, author: Author },
    /// It is there with these fields, whoever makes its ids.
    Import { key: EntityKey, document: Item, existing: Existing },
    /// It goes.
    Delete { key: EntityKey, expected: Option<String> },
    /// It goes, because its time has come.
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
}
