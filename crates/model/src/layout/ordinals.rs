//! Ordinals: entities that are matched by tags or facets are numbered in order of creation, within
//! their kind and tenant. Posting lists contain ordinals, and an index leads from them to entities.
//!
//! ```text
//! partition   "n", entity, [tenant], [shard]
//! sort        ordinal, id
//! ```

use keyloom_value::{KeyBytes, Value};

use super::key::{SYSTEM, bytes, own_sort, push_tenant, words};
use super::shards::partition_of;
use super::{EntityKey, Image, IndexKey, Layout, RowKey, Slot};
use crate::model::EntityId;

/// First part of the partition keys of the list by ordinal.
pub(super) const ORDINALS: &str = "n";

/// Keys of the lists by ordinal, and of the rows that allocate ordinals.
#[derive(Clone, Copy, Debug)]
pub struct OrdinalKeys<'l> {
    layout: &'l Layout,
}

impl<'l> OrdinalKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> OrdinalKeys<'l> {
        OrdinalKeys { layout }
    }

    /// The ordinal of an entity, if its kind has ordinals.
    pub(super) fn of(&self, image: &Image) -> Option<u64> {
        image.ordinal.filter(|_| self.slot(image.key.entity).is_some())
    }

    /// The row that records which ordinals are allocated.
    pub fn allocation_key(&self, entity: EntityId, tenant: Option<&Value>) -> RowKey {
        let mut partition = words(&[SYSTEM, "numbers", self.layout.stored(entity)]);
        push_tenant(&mut partition, tenant);
        RowKey { partition, sort: own_sort() }
    }

    /// The index of the list by ordinal, if entities of this kind have ordinals.
    pub fn slot(&self, entity: EntityId) -> Option<Slot> {
        self.layout.layout_of(entity).slots.ordinal
    }

    /// The partition of the list of all entities of a kind by ordinal, which is spread over the shards
    /// of the kind.
    pub fn partition(&self, entity: EntityId, tenant: Option<&Value>) -> KeyBytes {
        let mut key = words(&[ORDINALS, self.layout.stored(entity)]);
        push_tenant(&mut key, tenant);
        key
    }

    /// The key of an entity in the list by ordinal.
    pub fn index_key(&self, key: &EntityKey, ordinal: u64) -> IndexKey {
        let mut sort = ordinal_key(ordinal);
        sort.push_text(&key.id);
        let shards = self.layout.shards(self.layout.model().entity(key.entity).shards);
        let partition = self.partition(key.entity, key.tenant.as_ref());
        IndexKey { partition: partition_of(&partition, &key.id, shards), sort }
    }
}

/// An ordinal as a sort key, or as the prefix of one.
pub(crate) fn ordinal_key(ordinal: u64) -> KeyBytes {
    bytes(&[Value::from(ordinal)])
}

/// Reads the ordinal that a sort key, or the rest of one, begins with.
pub fn ordinal_of(sort: &[u8]) -> Option<u64> {
    let (ordinal, _) = KeyBytes::decode_part(sort).ok()?;
    ordinal.as_n()?.to_i64().and_then(|ordinal| u64::try_from(ordinal).ok())
}
