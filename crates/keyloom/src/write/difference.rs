//! The difference between two images of some entities: the rows, postings and counters that one
//! transaction writes. Plain data.

use keyloom_model::{EntityKey, FieldId, SumTooLong, UniqueId};
use keyloom_store::{SetChange, TransactAction};

use super::counters::Counters;
use super::deltas::PlannedDelta;

/// The maximum number of actions in one transaction.
pub(crate) const ACTIONS_MAX: usize = 100;
/// The maximum size of the rows in one transaction, which can have 4 MB.
pub(crate) const BYTES_MAX: usize = 3 * 1024 * 1024;

/// Everything that one transaction writes.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Rows to write or check.
    pub(crate) actions: Vec<PlannedAction>,
    /// Changes of posting lists that are sets of the store.
    pub(crate) postings: Vec<SetChange>,
    /// What is appended to the deltas of posting lists, where the store has no sets.
    pub(crate) deltas: Vec<PlannedDelta>,
    /// What is added to which counters.
    pub(crate) counters: Counters,
}

impl Difference {
    /// The maximum number of actions.
    pub(crate) fn rows_max(&self) -> usize {
        self.actions.len() + self.deltas.len() + self.counters.rows_max()
    }

    /// Whether it fits into one transaction with this many other actions.
    pub(crate) fn fits(&self, others: usize) -> bool {
        self.rows_max() + others <= ACTIONS_MAX && self.bytes() < BYTES_MAX
    }

    /// The size of what it writes.
    pub(crate) fn bytes(&self) -> usize {
        let put_bytes = |planned: &PlannedAction| match &planned.action {
            TransactAction::Put(put) => put.item.size(),
            TransactAction::Update(_) | TransactAction::Delete(_) | TransactAction::Check(_) => 0,
        };
        let put_bytes = self.actions.iter().map(put_bytes);
        let bytes = put_bytes.chain(self.postings.iter().map(SetChange::bytes));
        bytes.chain(self.deltas.iter().map(PlannedDelta::bytes)).sum()
    }
}

impl From<Vec<PlannedAction>> for Difference {
    fn from(actions: Vec<PlannedAction>) -> Difference {
        Difference { actions, ..Difference::default() }
    }
}

/// One action, and what a failure of its condition means.
#[derive(Clone, Debug)]
pub(crate) struct PlannedAction {
    pub(crate) action: TransactAction,
    pub(crate) on_conflict: OnConflict,
}

impl PlannedAction {
    /// An action whose condition fails only if a read was stale.
    pub(crate) fn or_changed(action: TransactAction) -> PlannedAction {
        PlannedAction { action, on_conflict: OnConflict::Changed }
    }

    /// A row that is written with changes; if its condition fails, nothing is written.
    pub(crate) fn piggybacked(action: TransactAction) -> PlannedAction {
        PlannedAction { action, on_conflict: OnConflict::LostRace }
    }
}

/// What the failure of a condition means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// The entity has changed: read it again.
    Changed,
    /// The guard of a value that the entity has belongs to another entity.
    NotMine { owner: EntityKey },
    /// Another entity has the value.
    UniqueViolation { by: EntityKey, unique: UniqueId },
    /// The target of a reference does not exist, or is being deleted.
    TargetGone { owner: EntityKey, field: FieldId, target: EntityKey },
    /// Another writer wrote the piggybacked row: the changes were applied before, or two writers
    /// compete for it.
    LostRace,
    /// Another writer has changed the ranked counter: add to its new value.
    CounterMoved,
    /// The delta has no room for more: it has to be folded first. The update itself has no condition.
    DeltaFull,
    /// A sum of the counter would not be exact. The addition itself has no condition.
    SumTooLong(SumTooLong),
}
