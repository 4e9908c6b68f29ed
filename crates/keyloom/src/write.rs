//! The one write path. A change is a transition from one image to another; it writes rows(after) −
//! rows(before), in one transaction, on condition that the entity is unchanged since it was read.
//! Create, update, delete, expiry, backfill and repair all end here.
//!
//! The stages in the order in which they run, and what they may touch:
//!
//! ```text
//! intent -> admit -> transition -> plan -> difference    nothing: pure functions
//! settle, cascade, tombstone, execute, commit            the store, one transaction at a time
//! ```
//!
//! Work that takes many transactions is in `background`.

mod admit;
mod attempt;
mod attempts;
mod cascade;
mod commit;
mod context;
mod counters;
mod deletion_record;
mod deltas;
mod difference;
mod execute;
mod fence;
mod gate;
mod idempotency;
mod intent;
mod patience;
mod plan;
mod planned_action;
mod references;
mod registry;
mod request;
mod sequences;
mod settle;
mod tombstone;
mod transition;
mod turns;
mod write_set;

pub(crate) use admit::Decision;
pub(crate) use attempt::AttemptState;
pub(crate) use attempts::Attempts;
pub(crate) use commit::Outcome;
pub(crate) use context::{FencedBy, WriteContext};
pub(crate) use counters::{RankedChange, add_all, amount_of};
pub(crate) use deletion_record::{DeletionRecord, LEFT, ROOT, TOTAL, read_roots, write_roots};
pub(crate) use deltas::{Groups, OrdinalOwner, PlannedDelta, WAITING_MAX};
pub(crate) use difference::{ACTIONS_MAX, BYTES_MAX, Difference};
pub(crate) use execute::{Executed, Executor};
pub(crate) use fence::Fence;
pub(crate) use gate::{Gate, GatedBy};
pub(crate) use idempotency::{Done, IdempotencyKey, IdempotencyRecord};
pub use intent::Existing;
pub(crate) use intent::{Author, Intent};
pub(crate) use plan::as_read;
pub(crate) use planned_action::PlannedAction;
pub(crate) use references::{LINKS_PAGE, ReferenceRules};
pub(crate) use registry::{Registry, forget_registered};
pub(crate) use request::{Existence, WriteRequest};
pub(crate) use sequences::{Numbers, Sequences, last_number, once_begun};
pub(crate) use settle::{Hidden, SettledReader, expire_entity};
pub(crate) use transition::{Numbering, References, TombstoneChange, Tombstones, Transition};
pub(crate) use turns::{Turn, Turns};
