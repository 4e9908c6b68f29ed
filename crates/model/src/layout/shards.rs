//! Shards: the partitions of a shared table over which something is spread that many writers touch.
//! The number of the shard is the last part of a partition key, if there is more than one. A store of
//! one process has no limit for each partition, so there everything has one shard.

use keyloom_value::{KeyBytes, Value};

use super::key_part::{check_len, push_key};
use super::{KeyTooLong, Layout, Matching, RowKey};
use crate::model::Entity;

impl Entity {
    /// Whether anything about entities of this kind is spread over shards, on a store where that is
    /// done.
    pub fn has_shards(&self) -> bool {
        let own = [self.shards, self.reference_shards].into_iter();
        let lists = self.lists.iter().map(|list| list.shards);
        let counts = self.counts.iter().map(|count| count.shards);
        let boards = self.boards.iter().map(|board| board.shards);
        own.chain(lists).chain(counts).chain(boards).any(|shards| shards > 1)
    }
}

impl Layout {
    /// Whether this layout has shards where one with this form of posting lists has them.
    pub fn spreads_like(&self, matching: Matching) -> bool {
        let is_spread = |matching| matching == Matching::Chunks;
        is_spread(self.matching()) == is_spread(matching)
    }

    /// How many shards something has for which the model declares so many.
    pub(super) fn shards(&self, declared: u32) -> u32 {
        match self.matching() {
            Matching::Chunks => declared,
            Matching::Sets | Matching::Rows => 1,
        }
    }
}

/// The partitions of all shards of something whose keys begin like this.
///
/// # Errors
///
/// If they do not fit into a key: no entity is in them.
pub(super) fn partitions(
    base: &KeyBytes,
    shards: u32,
    what: impl Fn() -> String,
) -> Result<Vec<KeyBytes>, KeyTooLong> {
    let all: Vec<KeyBytes> = (0..shards).map(|shard| partition(base, shard, shards)).collect();
    all.iter().try_for_each(|key| check_len(key, RowKey::PARTITION_BYTES_MAX, &what))?;
    Ok(all)
}

/// The partition of one of its shards.
pub(super) fn partition(base: &KeyBytes, shard: u32, shards: u32) -> KeyBytes {
    let mut key = base.clone();
    if shards > 1 {
        push_key(&mut key, &Value::from(u64::from(shard)));
    }
    key
}

/// The partition of an entity's shard, given that of all shards.
pub(super) fn partition_of(base: &KeyBytes, id: &str, shards: u32) -> KeyBytes {
    partition(base, shard_of(id, shards), shards)
}

/// The shard of an entity with this id: always the same one.
pub(super) fn shard_of(id: &str, shards: u32) -> u32 {
    // FNV-1a: simple, and the same for ever.
    let hash = id
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % shards
}
