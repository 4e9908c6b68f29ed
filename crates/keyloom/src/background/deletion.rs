//! Deletions that do not fit into one transaction: they hide first and clear after.
//!
//! Everything that goes is reached from the root over references that cascade. Marking walks from
//! the root outward, and also marks what stays and refers to what goes, with the references that are
//! to be cleared. Tombstones change nothing that is seen. Then one change of the deletion's record
//! makes everything vanish at once: `Pending` says what a tombstone implies, and readers leave it out.
//! What is left to do is to remove it: references first, then entities, the outermost first, so that
//! the rest can always be reached from the root, whoever resumes it. `write/deletion_record.rs` has
//! the states.

mod clear;
mod large;
mod mark;
mod running;
mod sweep;
mod unmark;
mod walk;

pub(crate) use clear::clear_references;
pub(crate) use large::{
    LargeDeletion, call_off, delete_in_background, finish_entity, resume_deletion,
};
pub(crate) use running::Running;
pub(crate) use unmark::{take_back, unmark_entity};
