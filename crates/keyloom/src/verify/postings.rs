//! Posting lists: every entity is in those that it implies, and nothing else is in them. Lists are
//! sets of the store, or chunks in rows.

mod chunk_rows;
mod membership;
mod sets;

pub(super) use chunk_rows::check_row;
pub(super) use membership::check_lists_of;
pub(super) use sets::{check_page, check_sets_of, first};
