//! One action of a transaction, and what a failure of its condition means.

use keyloom_model::{EntityKey, FieldId, SumTooLong, UniqueId};
use keyloom_store::TransactAction;

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
