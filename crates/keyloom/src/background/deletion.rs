//! Deletions that do not fit into one transaction: they hide first, then remove.
//!
//! Everything to delete can be reached from the root over references that cascade. Marking walks
//! from the root outward, and also marks the references to clear in entities that stay. Tombstones
//! are invisible to readers. Then one write of the deletion's record hides everything at once:
//! `Pending` defines what a tombstone implies, and readers skip it. Then everything is removed:
//! references first, then entities, the outermost first, so that the rest can always be reached from
//! the root when a deletion is resumed. `write/deletion_record.rs` has the states.

mod clear;
mod large;
mod mark;
mod running;
mod sweep;
mod unmark;
mod walk;

pub(crate) use clear::clear_references;
pub(crate) use large::{LargeDeletion, delete_in_background, finish_entity, resume_deletion};
pub(crate) use running::Running;
pub(crate) use unmark::{call_off, take_back, unmark_entity};
