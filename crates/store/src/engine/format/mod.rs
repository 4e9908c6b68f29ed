//! Bytes on disk. Nothing outside this module knows what they look like; everything in it turns
//! values into bytes and bytes back into values or a [`Malformed`], and never panics on bytes.
//!
//! See `docs/format.md` for the drawings.

mod bytes;
mod column;
mod commit;
mod frame;
mod item;
mod row_key;
mod set;
mod table;
#[cfg(test)]
mod tests;
mod version;

pub(crate) use bytes::{Malformed, Reader, Writer};
pub(crate) use column::{Block, BlockMut, ColumnRows, block_of};
pub(crate) use commit::{Commit, CommitNo, Effect, RowEffect, SetEffect};
pub(crate) use frame::{Frame, FrameHeader, SegmentHeader};
pub(crate) use item::{NameCache, decode_item, encode_item, encode_size, is_size_alone, item_size};
pub(crate) use row_key::{RowKind, SpaceId, SystemKey};
pub(crate) use set::{Chunk, ChunkNo, Delta, SMALL_MAX, SetId, SetRecord, SetRows};
pub(crate) use table::{BuildState, Derived, DerivedKind, TableId, TableRecord};
pub(crate) use version::FORMAT_VERSION;
