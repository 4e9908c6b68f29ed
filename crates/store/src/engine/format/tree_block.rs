//! The layout of the tree's file: blocks, their checksums, and the seal of its header.
//!
//! ```text
//! block 0, 1     first copy of the header: redb's block 0, and a seal
//! block 2, 3     second copy
//! block 4        checksums of the first 512 blocks of the tree
//! block 5..517   those blocks
//! block 517      checksums of the next 512 blocks, and so on
//!
//! seal: 16 bytes of magic, the store's id, sequence, checksum of block 0; little-endian
//! ```
//!
//! A checksum depends on the store and on the block number, so a block of another file, or one
//! written to the wrong position, does not match.

use twox_hash::XxHash3_64;

/// Size of a block in bytes.
pub(crate) const BLOCK: u64 = 4096;
/// Blocks in a group: the checksums that fit into one block.
pub(crate) const GROUP: u64 = BLOCK / 8;
/// Blocks before the first group: two copies of the header, two blocks each.
const HEADER_BLOCKS: u64 = 4;

/// Instead of a checksum: the block was never written and holds zeros.
pub(crate) const NEVER_WRITTEN: u64 = 0;
/// Instead of a checksum: the block may hold anything, and nothing refers to it.
pub(crate) const BEING_WRITTEN: u64 = 1;

const SEAL_MAGIC: &[u8; 16] = b"KEYLOOM TREE 5\n\0";

/// What follows redb's block 0 in a copy of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    /// How often the header was written.
    pub(crate) sequence: u64,
}

impl Seal {
    pub(crate) const LEN: usize = 40;

    pub(crate) fn encode(self, content: &[u8], store: u64) -> [u8; Seal::LEN] {
        debug_assert_eq!(content.len() as u64, BLOCK, "a header is one block of redb's");
        let mut seal = [0; Seal::LEN];
        seal[..16].copy_from_slice(SEAL_MAGIC);
        seal[16..24].copy_from_slice(&store.to_le_bytes());
        seal[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        seal[32..].copy_from_slice(&block_checksum(store, self.sequence, content).to_le_bytes());
        seal
    }

    /// Returns `None` unless it was made for this content and store.
    pub(crate) fn decode(bytes: &[u8], content: &[u8], store: u64) -> Option<Seal> {
        let sequence = bytes.get(24..32)?.first_chunk::<8>()?;
        let seal = Seal { sequence: u64::from_le_bytes(*sequence) };
        (bytes == seal.encode(content, store)).then_some(seal)
    }
}

/// Returns the checksum of a block, which never equals one of the marks.
pub(crate) fn block_checksum(store: u64, number: u64, block: &[u8]) -> u64 {
    let position = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ store.rotate_left(32);
    (XxHash3_64::oneshot(block) ^ position).max(BEING_WRITTEN + 1)
}

pub(crate) fn encode_checksums(checksums: impl Iterator<Item = u64>) -> Vec<u8> {
    let bytes: Vec<u8> = checksums.flat_map(u64::to_le_bytes).collect();
    debug_assert_eq!(bytes.len() as u64, BLOCK, "the checksums of a group fill a block");
    bytes
}

pub(crate) fn decode_checksums(bytes: &[u8; BLOCK as usize]) -> impl Iterator<Item = u64> {
    let (checksums, _) = bytes.as_chunks::<8>();
    checksums.iter().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Returns the position of a tree block in the file, in blocks.
pub(crate) fn block_position(number: u64) -> u64 {
    group_position(number / GROUP) + 1 + number % GROUP
}

/// Returns the position of a group's checksums in the file, in blocks.
pub(crate) fn group_position(group: u64) -> u64 {
    HEADER_BLOCKS + group * (GROUP + 1)
}

/// Returns the size of a file that holds this many tree blocks, in blocks.
pub(crate) fn file_blocks(tree_blocks: u64) -> u64 {
    HEADER_BLOCKS + tree_blocks + tree_blocks.div_ceil(GROUP)
}

/// Returns how many tree blocks a file of this many blocks has room for.
pub(crate) fn tree_blocks(file_blocks: u64) -> u64 {
    let blocks = file_blocks.saturating_sub(HEADER_BLOCKS);
    blocks - blocks.div_ceil(GROUP + 1)
}
