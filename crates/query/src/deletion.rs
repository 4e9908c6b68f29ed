//! Large deletions as readers see them: rows are marked first, then all vanish in one moment, then
//! they are swept away one by one.

use keyloom_model::{RowKey, Unreadable};
use keyloom_value::{Item, Value};

/// The attribute of a deletion's row that holds its state.
const STATE: &str = "state";
const MARKING: &str = "marking";
const SWEEPING: &str = "sweeping";
const CALLED_OFF: &str = "called off";

/// How far a deletion has come. Without a row of its own, a deletion is not sweeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionState {
    /// It marks rows; they are still seen. It can be called off.
    Marking,
    /// It has happened: what it takes is not seen any more, and is being removed.
    Sweeping,
    /// It was called off: its marks mean nothing, and are being taken back.
    CalledOff,
}

/// The key of the row that says how far a deletion has come.
pub fn deletion_key(task: &str) -> RowKey {
    RowKey::system("deletion", &[task.into()])
}

impl DeletionState {
    /// The attribute of a deletion's row that holds its state.
    pub const ATTRIBUTE: &'static str = STATE;

    /// The state as it is kept.
    pub fn to_value(self) -> Value {
        match self {
            DeletionState::Marking => MARKING.into(),
            DeletionState::Sweeping => SWEEPING.into(),
            DeletionState::CalledOff => CALLED_OFF.into(),
        }
    }

    /// Reads the state from a deletion's row.
    ///
    /// # Errors
    ///
    /// If it is no such row.
    pub fn read(row: &Item) -> Result<DeletionState, Unreadable> {
        match row.get(STATE).and_then(Value::as_s) {
            Some(MARKING) => Ok(DeletionState::Marking),
            Some(SWEEPING) => Ok(DeletionState::Sweeping),
            Some(CALLED_OFF) => Ok(DeletionState::CalledOff),
            Some(_) | None => Err(Unreadable { attribute: STATE }),
        }
    }
}
