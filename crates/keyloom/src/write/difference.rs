//! The difference between two images of some entities: the rows, postings and counters that one
//! transaction writes. Plain data.

use keyloom_store::{SetChange, TransactAction};

use super::counters::Counters;
use super::deltas::PlannedDelta;
use super::planned_action::PlannedAction;

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
