//! The change of one entity from one image to another.

use keyloom_model::{EntityKey, Image, OwnRow, Pending};

/// The change of one entity, on condition that its own row is unchanged since it was read.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) key: EntityKey,
    /// Its own row as it was read; none if it did not exist.
    pub(crate) before: Option<OwnRow>,
    /// The new image; none if it is deleted.
    pub(crate) after: Option<Image>,
    /// What happens to the tombstones on it.
    pub(crate) tombstones: TombstoneChange,
    /// Whether new targets in its lists of references must exist.
    pub(crate) references: References,
    /// Whether it takes a number from the sequence of its kind.
    pub(crate) numbering: Numbering,
}

/// How an entity comes to its number, if its kind has a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// It keeps the one that it has, or none.
    Kept,
    /// It gets the next one.
    Next,
    /// The service says which; the sequence goes on after it.
    Given,
}

/// Whether new targets in lists of references must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum References {
    /// They must.
    Checked,
    /// They need not: an exported list may contain ids of deleted entities.
    Trusted,
    /// No target is checked, not even those of single references: a copy writes entities in any order.
    Copied,
}

/// What happens to the tombstones of a row when it is rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TombstoneChange {
    /// Tombstones on the entity are removed: their deletions are canceled, or the writer itself.
    /// Tombstones on references stay as long as the references do.
    Drop,
    /// They stay: the deletions may have been applied, which the writer has not checked.
    Keep,
    /// They are replaced.
    Set(Tombstones),
}

/// The tombstones on one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tombstones {
    /// The deletion that protects the entity from new references.
    pub(crate) deletion: Option<String>,
    /// What large deletions remove from it.
    pub(crate) pending: Pending,
}

impl Transition {
    /// Creates a transition in which the entity keeps its ordinal.
    pub(crate) fn new(
        key: EntityKey,
        before: Option<OwnRow>,
        mut after: Option<Image>,
    ) -> Transition {
        if let (Some(before), Some(after)) = (&before, &mut after) {
            after.ordinal = after.ordinal.or(before.image.ordinal);
        }
        let (tombstones, references) = (TombstoneChange::Drop, References::Checked);
        Transition { key, before, after, tombstones, references, numbering: Numbering::Kept }
    }

    pub(crate) fn delete(before: OwnRow) -> Transition {
        Transition::new(before.image.key.clone(), Some(before), None)
    }
}
