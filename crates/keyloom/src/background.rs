//! Background operations: work of many transactions that can outlive its call. Deletions that are
//! too large for one transaction, backfills, expiry, folding deltas of posting lists, settling
//! leaderboards, and resuming what a dropped call or a dead process has left. All of them write through `write`, and keep their progress in the table.

mod backfill;
mod deletion;
mod expiry;
mod fold;
mod lease;
mod open_deletion;
mod operation;
mod resume;
mod scores;

pub use backfill::Progress;
pub use operation::{Operation, OperationKind};

pub(crate) use deletion::{
    LargeDeletion, Running, call_off, clear_references, delete_in_background, finish_entity,
    take_back, unmark_entity,
};
pub(crate) use fold::Folding;
pub(crate) use lease::{Held, Lease, Leases};
pub(crate) use operation::Calls;
pub(crate) use resume::Others;
pub(crate) use scores::{Settling, settle_all};
