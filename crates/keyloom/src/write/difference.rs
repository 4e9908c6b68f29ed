//! The difference between two images of some entities: everything that one transaction writes, rows,
//! postings and counters together. Plain data.

use keyloom_model::{EntityKey, FieldId, UniqueId};
use keyloom_store::{SetChange, TransactAction};

use super::counters::Counters;

/// As many actions as one transaction can have.
pub(crate) const ACTIONS_MAX: usize = 100;
/// As many bytes as are put in one transaction, which can have 4 MB.
const BYTES_MAX: usize = 3 * 1024 * 1024;

/// Everything that one transaction does.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Rows that are written and checked.
    pub(crate) actions: Vec<PlannedAction>,
    /// Who joins and leaves which posting lists that are sets of the store.
    pub(crate) postings: Vec<SetChange>,
    /// What is added to which counters.
    pub(crate) counters: Counters,
}

impl Difference {
    /// How many actions it has, at most.
    pub(crate) fn rows_max(&self) -> usize {
        self.actions.len() + self.counters.rows_max()
    }

    /// Whether it goes into one transaction, with so many other actions.
    pub(crate) fn fits(&self, others: usize) -> bool {
        let put_bytes = |planned: &PlannedAction| match &planned.action {
            TransactAction::Put(put) => put.item.size(),
            TransactAction::Update(_) | TransactAction::Delete(_) | TransactAction::Check(_) => 0,
        };
        let put_bytes = self.actions.iter().map(put_bytes);
        let bytes: usize = put_bytes.chain(self.postings.iter().map(SetChange::bytes)).sum();
        self.rows_max() + others <= ACTIONS_MAX && bytes < BYTES_MAX
    }
}

impl From<Vec<PlannedAction>> for Difference {
    fn from(actions: Vec<PlannedAction>) -> Difference {
        Difference { actions, ..Difference::default() }
    }
}

/// One action, and what it means if its condition does not hold.
#[derive(Clone, Debug)]
pub(crate) struct PlannedAction {
    pub(crate) action: TransactAction,
    pub(crate) on_conflict: OnConflict,
}

impl PlannedAction {
    /// An action whose condition holds as long as what was read is not old.
    pub(crate) fn or_changed(action: TransactAction) -> PlannedAction {
        PlannedAction { action, on_conflict: OnConflict::Changed }
    }

    /// A row that is written with changes; they do not happen if its condition does not hold.
    pub(crate) fn piggybacked(action: TransactAction) -> PlannedAction {
        PlannedAction { action, on_conflict: OnConflict::LostRace }
    }
}

/// What it means that a condition did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// The entity is not what was read: read it again.
    Changed,
    /// A value that the entity has is guarded for another one.
    NotMine { owner: EntityKey },
    /// Another entity has the value.
    UniqueViolation { by: EntityKey, unique: UniqueId },
    /// What it refers to is not there, or about to go.
    TargetGone { owner: EntityKey, field: FieldId, target: EntityKey },
    /// A piggybacked row was written by somebody else: the changes have happened before, or whoever
    /// sent them is not alone.
    LostRace,
    /// Somebody else has added to the same ranked counter: add to what it is now.
    CounterMoved,
}
