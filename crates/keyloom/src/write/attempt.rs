//! What the attempts at one transaction have learned, from one to the next.

use keyloom_model::{EntityKey, RowKey};

use super::DeletionRecord;

/// What the attempts of one call have in common.
#[derive(Debug, Default)]
pub(crate) struct AttemptState {
    /// Deletions that are called off: their tombstones mean nothing.
    pub(crate) called_off: Vec<String>,
    /// The deletion of this call, if it deletes what others may refer to.
    pub(crate) deletion: Option<DeletionRecord>,
    /// What that deletion has marked.
    pub(crate) marked: Vec<EntityKey>,
    /// The own row of the one that refused a deletion when everyone was last looked for.
    pub(crate) refused: Option<RowKey>,
    /// How often a guard was met whose owner did not have the value.
    pub(crate) ownerless: usize,
    /// Nothing is there yet of what is wanted: its rows are not read.
    pub(crate) assumes_new: bool,
}

impl AttemptState {
    /// The state of a call that runs a deletion.
    pub(crate) fn of(deletion: DeletionRecord) -> AttemptState {
        AttemptState { deletion: Some(deletion), ..AttemptState::default() }
    }

    /// Whether nothing is to be done about a tombstone: its deletion is that of this call, or is
    /// called off.
    pub(crate) fn is_settled(&self, deletion: &str) -> bool {
        let mine = self.deletion.as_ref().map(DeletionRecord::id);
        mine == Some(deletion) || self.is_called_off(deletion)
    }

    pub(crate) fn is_called_off(&self, deletion: &str) -> bool {
        self.called_off.iter().any(|called_off| called_off == deletion)
    }

    /// The deletion of this call is over: it has happened, or was called off.
    pub(crate) fn end_deletion(&mut self) {
        (self.deletion, self.marked) = (None, vec![]);
    }
}
