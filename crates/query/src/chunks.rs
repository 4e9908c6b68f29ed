//! Posting lists on a store without sets, read at one moment. `model/layout/chunks.rs` describes their
//! rows; the library writes and folds them.
//!
//! A read takes all deltas of the group first, and chunks after that. What a delta mentions of an
//! ordinal overrides the chunk, so it does not matter whether it is folded already. What was written
//! after the deltas were read is in no chunk either: it is folded only [`READ_MAX`] after it was first
//! seen, and by then the read is over, or fails. So a read sees each entity in all lists as of one
//! moment, although it takes many requests.

mod deltas;
mod view;

use std::time::Duration;

pub(crate) use view::{ChunkView, ListSize, ViewReader};

/// How long one read of posting lists may take. A delta is folded no earlier than this after it was
/// first seen.
pub const READ_MAX: Duration = Duration::from_secs(5);
