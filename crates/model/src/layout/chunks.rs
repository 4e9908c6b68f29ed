//! Posting lists on a store without sets: where their rows are.
//!
//! The postings of one write are one *delta*, appended to the delta row of the entity's ordinal.
//! Later they are *folded* into *chunks*, each of which holds the members of a list among 65,536
//! ordinals. The *directory* row of a list says which chunks it has, and how many members are in
//! each. An *ordinal row* leads from an ordinal to its entity, and can be read in a batch.
//!
//! ```text
//! row            PK                                       SK
//! a delta        "m", "deltas", entity, [tenant], shard   ordinal
//! a directory    "m", "lists", name but its last part     last part of the name
//!                "m", "lists", name                       0, if no other list shares the prefix
//! a chunk        "m", "chunks", name                      chunk
//! an ordinal     "o", entity, [tenant], ordinal           0
//! a group        "m", "groups"                            entity, [tenant]
//! ```
//!
//! A *group* is a kind, of one tenant if it has tenants: ordinals are unique within it. Its row says
//! that it may have deltas.

use keyloom_value::{KeyBytes, Value};

use super::attribute::OWNER;
use super::key::{SYSTEM, bytes, own_sort, push_tenant, words};
use super::key_part::check_len;
use super::ordinals::ordinal_of;
use super::postings::posting_row_prefix;
use super::{Image, KeyTooLong, Layout, Reason, Row, RowKey};
use crate::model::EntityId;

/// First part of the keys of ordinal rows.
pub(super) const ORDINAL_ROW: &str = "o";

const DELTAS: &str = "deltas";
const LISTS: &str = "lists";
const CHUNKS: &str = "chunks";
const GROUPS: &str = "groups";
/// The number of partitions that the deltas of a group are spread over, by ordinal. It is the same for
/// ever: with another number, an ordinal could have two delta rows.
const DELTA_SHARDS: u64 = 4;
/// What keys of chunks have before the name.
const PREFIX_BYTES: usize = 16;

/// Keys of the rows of posting lists on a store without sets.
#[derive(Clone, Copy, Debug)]
pub struct ChunkKeys<'l> {
    layout: &'l Layout,
}

impl<'l> ChunkKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> ChunkKeys<'l> {
        ChunkKeys { layout }
    }

    /// The partitions of the deltas of a group.
    pub fn delta_partitions(&self, entity: EntityId, tenant: Option<&Value>) -> Vec<KeyBytes> {
        (0..DELTA_SHARDS).map(|shard| self.delta_partition(entity, tenant, shard)).collect()
    }

    fn delta_partition(&self, entity: EntityId, tenant: Option<&Value>, shard: u64) -> KeyBytes {
        let mut partition = words(&[SYSTEM, DELTAS, self.layout.stored(entity)]);
        push_tenant(&mut partition, tenant);
        partition.append(&bytes(&[Value::from(shard)]));
        partition
    }

    /// The delta row of an ordinal.
    pub fn delta_key(&self, entity: EntityId, tenant: Option<&Value>, ordinal: u64) -> RowKey {
        let partition = self.delta_partition(entity, tenant, ordinal % DELTA_SHARDS);
        RowKey { partition, sort: bytes(&[Value::from(ordinal)]) }
    }

    /// Whether a partition is one of deltas.
    pub fn is_delta(partition: &[u8]) -> bool {
        partition.starts_with(words(&[SYSTEM, DELTAS]).as_bytes())
    }

    /// The row of a group.
    pub fn group_key(&self, entity: EntityId, tenant: Option<&Value>) -> RowKey {
        let mut sort = words(&[self.layout.stored(entity)]);
        push_tenant(&mut sort, tenant);
        RowKey { partition: ChunkKeys::groups(), sort }
    }

    /// The partition of the rows of all groups.
    pub fn groups() -> KeyBytes {
        words(&[SYSTEM, GROUPS])
    }

    /// Reads the kind and the tenant of a group. None if the model does not know it.
    pub fn read_group(&self, sort: &[u8]) -> Option<(EntityId, Option<Value>)> {
        let mut parts = KeyBytes::decode(sort).ok()?.into_iter();
        let entity = self.layout.model().find_stored(parts.next()?.as_s()?)?;
        let tenant = parts.next();
        (tenant.is_some() == self.layout.has_tenant(entity)).then_some((entity, tenant))
    }

    /// The row of an ordinal.
    pub fn ordinal_key(&self, entity: EntityId, tenant: Option<&Value>, ordinal: u64) -> RowKey {
        let mut partition = words(&[ORDINAL_ROW, self.layout.stored(entity)]);
        push_tenant(&mut partition, tenant);
        partition.append(&bytes(&[Value::from(ordinal)]));
        RowKey { partition, sort: own_sort() }
    }

    /// The row of an entity's ordinal, if it has one.
    pub(super) fn ordinal_row(
        &self,
        image: &Image,
        owner: &Value,
    ) -> Result<Option<Row>, KeyTooLong> {
        let Some(ordinal) = self.layout.ordinals().of(image) else { return Ok(None) };
        let key = self.ordinal_key(image.key.entity, image.key.tenant.as_ref(), ordinal);
        let name = &self.layout.model().entity(image.key.entity).name;
        check_len(&key.partition, RowKey::PARTITION_BYTES_MAX, || format!("a `{name}`"))?;
        let group = self.group_key(image.key.entity, image.key.tenant.as_ref());
        check_len(&group.sort, RowKey::SORT_BYTES_MAX, || format!("the tenant of a `{name}`"))?;
        let mut item = key.to_item();
        item.insert(OWNER, owner.clone());
        Ok(Some(Row { key, reason: Reason::Posting, item }))
    }

    /// The directory row of a posting list.
    pub fn directory_key(name: &[u8]) -> RowKey {
        let (prefix, last) = posting_row_prefix(name);
        let sort = if last.is_empty() { own_sort() } else { parts_of(last) };
        RowKey { partition: ChunkKeys::directory_partition(prefix), sort }
    }

    /// The partition of the directory rows of all lists whose names are this prefix and one part.
    pub fn directory_partition(prefix: &[u8]) -> KeyBytes {
        under(LISTS, prefix)
    }

    /// The name of the list whose directory a row is. None if it is no directory.
    pub fn read_directory_key(partition: &[u8], sort: &[u8]) -> Option<KeyBytes> {
        let prefix = partition.strip_prefix(words(&[SYSTEM, LISTS]).as_bytes())?;
        let is_here = |name: &KeyBytes| {
            let key = ChunkKeys::directory_key(name.as_bytes());
            key.partition.as_bytes() == partition && key.sort.as_bytes() == sort
        };
        [parts_of(&[prefix, sort].concat()), parts_of(prefix)].into_iter().find(is_here)
    }

    /// A chunk of a posting list.
    pub fn chunk_key(name: &[u8], chunk: u64) -> RowKey {
        RowKey { partition: under(CHUNKS, name), sort: bytes(&[Value::from(chunk)]) }
    }

    /// The name of the list and the number of the chunk that a row is. None if it is no chunk.
    pub fn read_chunk_key(partition: &[u8], sort: &[u8]) -> Option<(KeyBytes, u64)> {
        let start = words(&[SYSTEM, CHUNKS]);
        let name = parts_of(partition.strip_prefix(start.as_bytes())?);
        Some((name, ordinal_of(sort)?))
    }
}

/// Checks that the keys of a posting list's rows are short enough.
pub(super) fn check_chunk_name(
    name: &KeyBytes,
    what: impl Fn() -> String,
) -> Result<(), KeyTooLong> {
    check_len(name, RowKey::PARTITION_BYTES_MAX - PREFIX_BYTES, &what)?;
    check_len(&ChunkKeys::directory_key(name.as_bytes()).sort, RowKey::SORT_BYTES_MAX, &what)
}

/// A system partition that ends with the parts of a name.
fn under(word: &str, name: &[u8]) -> KeyBytes {
    let mut key = words(&[SYSTEM, word]);
    key.append(&parts_of(name));
    key
}

/// The key with these bytes. Names are made of key parts, so none is left out.
fn parts_of(bytes_of_key: &[u8]) -> KeyBytes {
    bytes(&KeyBytes::decode(bytes_of_key).unwrap_or_default())
}
