//! State that is carried from one attempt at a transaction to the next.

use keyloom_model::{EntityKey, RowKey};

use super::{DeletionRecord, Existence};

/// The state that the attempts of one call share.
#[derive(Debug, Default)]
pub(crate) struct AttemptState {
    /// Canceled deletions: their tombstones are void.
    pub(crate) called_off: Vec<String>,
    /// The deletion of this call, if it deletes what others may refer to.
    pub(crate) deletion: Option<DeletionRecord>,
    /// The entities that this deletion has marked.
    pub(crate) marked: Vec<EntityKey>,
    /// The own row of the entity that forbade the deletion in the last attempt.
    pub(crate) refused: Option<RowKey>,
    /// How many guards were found whose owner does not have the value.
    pub(crate) ownerless: usize,
    /// Whether the entities of the request are read.
    pub(crate) existence: Existence,
    /// Whether the call deletes entities.
    pub(crate) deletes: bool,
}

impl AttemptState {
    /// The state of a call that runs a deletion.
    pub(crate) fn of(deletion: DeletionRecord) -> AttemptState {
        AttemptState { deletion: Some(deletion), deletes: true, ..AttemptState::default() }
    }

    /// Whether a tombstone needs no further action: its deletion belongs to this call, or is
    /// canceled.
    pub(crate) fn is_settled(&self, deletion: &str) -> bool {
        let mine = self.deletion.as_ref().map(DeletionRecord::id);
        mine == Some(deletion) || self.is_called_off(deletion)
    }

    /// Whether this call waits for another deletion rather than canceling it. Of two deletions, the one
    /// that began first goes on: so of any number, one always does.
    pub(crate) fn gives_way_to(&self, other: &DeletionRecord) -> bool {
        self.deletes && self.deletion.as_ref().is_none_or(|own| other.id() < own.id())
    }

    pub(crate) fn is_called_off(&self, deletion: &str) -> bool {
        self.called_off.iter().any(|called_off| called_off == deletion)
    }

    /// The deletion of this call has ended: it was applied or canceled.
    pub(crate) fn end_deletion(&mut self) {
        (self.deletion, self.marked) = (None, vec![]);
    }
}
