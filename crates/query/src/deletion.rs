//! Large deletions as readers see them: rows are marked first, then all become invisible at one
//! moment, then they are removed one by one.

use keyloom_model::{RowKey, Unreadable};
use keyloom_value::{Item, Value};

use crate::Error;
use crate::error::unreadable;
use crate::fetch::Rows;

/// The attribute of a deletion's record that holds its state.
const STATE: &str = "state";
const MARKING: &str = "marking";
const SWEEPING: &str = "sweeping";
const CALLED_OFF: &str = "called off";

/// The state of a deletion. One without a record is not sweeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionState {
    /// It marks rows, which are still visible. It can be canceled.
    Marking,
    /// It has happened: what it takes is invisible, and is being removed.
    Sweeping,
    /// It was canceled: its tombstones mean nothing, and are being removed.
    CalledOff,
}

/// The key of a deletion's record.
pub fn deletion_key(deletion: &str) -> RowKey {
    RowKey::system("deletion", &[deletion.into()])
}

/// Reads the state of a deletion; none if it has no record any more.
pub(crate) async fn deletion_state(
    rows: Rows<'_>,
    deletion: &str,
) -> Result<Option<DeletionState>, Error> {
    let Some(row) = rows.get(&deletion_key(deletion)).await? else { return Ok(None) };
    DeletionState::read(&row).map(Some).map_err(|reason| unreadable(&row, reason))
}

impl DeletionState {
    /// The attribute of a deletion's record that holds its state.
    pub const ATTRIBUTE: &'static str = STATE;

    /// The stored form of the state.
    pub fn to_value(self) -> Value {
        match self {
            DeletionState::Marking => MARKING.into(),
            DeletionState::Sweeping => SWEEPING.into(),
            DeletionState::CalledOff => CALLED_OFF.into(),
        }
    }

    /// Reads the state from a deletion's record.
    ///
    /// # Errors
    ///
    /// If the row is not such a record.
    pub fn read(row: &Item) -> Result<DeletionState, Unreadable> {
        match row.get(STATE).and_then(Value::as_s) {
            Some(MARKING) => Ok(DeletionState::Marking),
            Some(SWEEPING) => Ok(DeletionState::Sweeping),
            Some(CALLED_OFF) => Ok(DeletionState::CalledOff),
            Some(_) | None => Err(Unreadable { attribute: STATE }),
        }
    }
}
