//! A change of one entity, from what was read to what shall be.

use keyloom_model::{EntityKey, Image, OwnRow};

/// A change of one entity. It happens only if the entity's own row is still what was read.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) key: EntityKey,
    /// Its own row as it was read; none if there was none.
    pub(crate) before: Option<OwnRow>,
    /// What it becomes; none if it goes.
    pub(crate) after: Option<Image>,
}

impl Transition {
    pub(crate) fn delete(before: OwnRow) -> Transition {
        Transition { key: before.image.key.clone(), before: Some(before), after: None }
    }
}
