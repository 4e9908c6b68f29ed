//! What the settings of a table say about its continuous backups.

use keyloom_store::{SeqNo, Time};

/// How a table can be restored to an earlier time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recovery {
    pub(super) enabled_at: Time,
    pub(super) days: u64,
    /// All changes since it was enabled come after this one.
    pub(super) after: SeqNo,
}
