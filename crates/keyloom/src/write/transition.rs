//! A change of one entity, from what was read to what shall be.

use keyloom_model::{EntityKey, Image, OwnRow, Pending};

/// A change of one entity. It happens only if the entity's own row is still what was read.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) key: EntityKey,
    /// Its own row as it was read; none if there was none.
    pub(crate) before: Option<OwnRow>,
    /// What it becomes; none if it goes.
    pub(crate) after: Option<Image>,
    /// What becomes of the tombstones that deletions have left on it.
    pub(crate) tombstones: TombstoneChange,
    /// Whether what its lists newly refer to must be there.
    pub(crate) references: References,
}

/// Whether what lists of references newly refer to must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum References {
    /// It must.
    Checked,
    /// It need not: a list that was exported may have ids of what was deleted.
    Trusted,
}

/// What becomes of the tombstones of deletions when a row is written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TombstoneChange {
    /// Those go of deletions that take the entity: each is called off, or is the one that writes.
    /// A reference that is to be cleared stays marked as long as it is there.
    Drop,
    /// They stay: the deletions may have happened, and whoever writes has not asked.
    Keep,
    /// They become these.
    Set(Tombstones),
}

/// The tombstones of deletions on one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tombstones {
    /// The deletion that guards the entity against new references.
    pub(crate) deletion: Option<String>,
    /// What large deletions take from it.
    pub(crate) pending: Pending,
}

impl Transition {
    /// The entity keeps its ordinal, if it has one.
    pub(crate) fn new(
        key: EntityKey,
        before: Option<OwnRow>,
        mut after: Option<Image>,
    ) -> Transition {
        if let (Some(before), Some(after)) = (&before, &mut after) {
            after.ordinal = after.ordinal.or(before.image.ordinal);
        }
        let (tombstones, references) = (TombstoneChange::Drop, References::Checked);
        Transition { key, before, after, tombstones, references }
    }

    pub(crate) fn delete(before: OwnRow) -> Transition {
        Transition::new(before.image.key.clone(), Some(before), None)
    }
}
