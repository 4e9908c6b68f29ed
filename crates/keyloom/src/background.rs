//! Background operations: work of many transactions that goes on when nobody waits for it. Deletions
//! that are too large for one transaction, backfills, expiry, and resuming what a dropped call or a
//! dead process has left. All of them write through `write`, and keep their progress in the table.

mod backfill;
mod expiry;
mod operation;
mod running;
mod sweep;
mod unmark;

pub use backfill::Progress;
pub use operation::{Operation, OperationKind};

pub(crate) use operation::{Calls, Others};
pub(crate) use running::Running;
pub(crate) use sweep::{LEFT, ROOT, TOTAL};
