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
    /// What becomes of the mark that a deletion has left on it.
    pub(crate) mark: Mark,
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

/// What becomes of the mark of a deletion when a row is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It goes: the deletion is called off, or the one that writes.
    Drop,
    /// It stays: the deletion may be decided, and whoever writes has not asked.
    Keep,
}

impl Transition {
    /// The entity keeps its number, if it has one.
    pub(crate) fn new(
        key: EntityKey,
        before: Option<OwnRow>,
        mut after: Option<Image>,
    ) -> Transition {
        if let (Some(before), Some(after)) = (&before, &mut after) {
            after.number = after.number.or(before.image.number);
        }
        let (mark, references) = (Mark::Drop, References::Checked);
        Transition { key, before, after, mark, references }
    }

    pub(crate) fn delete(before: OwnRow) -> Transition {
        Transition::new(before.image.key.clone(), Some(before), None)
    }
}
