//! Bytes on disk. No other module knows their layout; everything here encodes values as bytes and
//! decodes bytes to values or to [`Malformed`], and never panics on bytes.
//!
//! `docs/format.md` shows the layouts.

mod bytes;
mod column;
mod commit;
mod commit_no;
mod end_mark;
mod frame;
mod identity;
mod item;
mod row_key;
mod set;
mod system_row;
mod table;
#[cfg(test)]
mod tests;
mod tree_block;
mod version;

pub(crate) use bytes::{Malformed, Reader, Writer};
pub(crate) use column::{Block, BlockMut, ColumnRows, block_of};
pub(crate) use commit::{Commit, Effect, RowEffect, SetEffect};
pub(crate) use commit_no::CommitNo;
pub(crate) use end_mark::Acknowledged;
pub(crate) use frame::{Frame, FrameHeader, SegmentHeader};
pub(crate) use identity::{History, Identity, Increment, Unfinished};
pub(crate) use item::{NameCache, decode_item, encode_item, encode_size, is_size_alone, item_size};
pub(crate) use row_key::{RowKind, SpaceId, SystemKey};
pub(crate) use set::{Chunk, ChunkNo, Delta, SMALL_MAX, SetId, SetRecord, SetRows};
pub(crate) use system_row::{Applied, LiveBytes, NextId, Stats, TokenRecord};
pub(crate) use table::{BuildState, Derived, DerivedKind, TableId, TableRecord};
pub(crate) use tree_block::{
    BEING_WRITTEN, BLOCK, GROUP, NEVER_WRITTEN, Seal, block_checksum, block_position,
    decode_checksums, encode_checksums, file_blocks, group_position, tree_blocks,
};
pub(crate) use version::FORMAT_VERSION;
