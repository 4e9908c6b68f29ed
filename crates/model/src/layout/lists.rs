//! Keys of ordered lists: an entity has at most one entry in each list, in the list's index.
//!
//! ```text
//! partition   "l", entity, list, [tenant], values of `by`, [shard]
//! sort        values of `order`, [ordinal], id
//! ```
//!
//! The list of all entities in order of creation is the list by ordinal; see `ordinals.rs`.

use keyloom_value::{KeyBytes, Value};

use super::key::{push_tenant, words};
use super::key_part::{check_len, in_order, push_key, push_values};
use super::ordinals::ordinal_of;
use super::shards::{partition_of, partitions};
use super::{Image, IndexKey, KeyTooLong, Layout, RowKey, Slot};
use crate::model::{Direction, Entity, EntityId, FieldId, List, ListId};

/// First part of the partition keys of lists.
pub(super) const LIST: &str = "l";

/// Keys of the lists of a layout.
#[derive(Clone, Copy, Debug)]
pub struct ListKeys<'l> {
    pub(super) layout: &'l Layout,
}

impl<'l> ListKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> ListKeys<'l> {
        ListKeys { layout }
    }

    /// The index that holds a list.
    pub fn slot(&self, entity: EntityId, list: ListId) -> Slot {
        self.layout.layout_of(entity).slots.lists[list.index()]
    }

    /// The partition of a list, for a tenant if the entity has one, and one value for each field of
    /// `by`. What it holds may be spread over several: see [`ListKeys::shards`].
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn partition(
        &self,
        (id, list): (EntityId, ListId),
        tenant: Option<&Value>,
        by: &[Value],
    ) -> Result<KeyBytes, KeyTooLong> {
        if self.layout.layout_of(id).slots.is_by_ordinal(list) {
            return Ok(self.layout.ordinals().partition(id, tenant));
        }
        let entity = self.layout.model().entity(id);
        ListPartition { entity, list: entity.list(list), tenant, by }.key(LIST)
    }

    /// The partitions of its shards, from the partition of a list or of its facet index.
    ///
    /// # Errors
    ///
    /// As [`ListKeys::partition`].
    pub fn shards(
        &self,
        (id, list): (EntityId, ListId),
        partition: &KeyBytes,
    ) -> Result<Vec<KeyBytes>, KeyTooLong> {
        let entity = self.layout.model().entity(id);
        let list = entity.list(list);
        partitions(partition, self.layout.shards(list.shards), || name_of_list(entity, list))
    }

    /// The number of shards that each part of a list is spread over.
    pub fn shard_count(&self, entity: EntityId, list: ListId) -> u32 {
        self.layout.shards(self.layout.model().entity(entity).list(list).shards)
    }

    /// The partition of an entity's shard, from the partition of a list or of its facet index.
    pub(super) fn shard_of(
        &self,
        entity: &Entity,
        list: &List,
        (partition, id): (&KeyBytes, &str),
    ) -> Result<KeyBytes, KeyTooLong> {
        let shard = partition_of(partition, id, self.layout.shards(list.shards));
        check_len(&shard, RowKey::PARTITION_BYTES_MAX, || name_of_list(entity, list))?;
        Ok(shard)
    }

    /// The key of an entity in the index of a list, if the list contains it.
    pub(super) fn index_key(
        &self,
        entity: &Entity,
        id: ListId,
        image: &Image,
    ) -> Result<Option<IndexKey>, KeyTooLong> {
        let list = entity.list(id);
        let values = |fields: &mut dyn Iterator<Item = FieldId>| {
            fields.map(|field| image.value(self.layout, field)).collect::<Option<Vec<Value>>>()
        };
        let by = self.by_values_of(list, image);
        let order = values(&mut list.order.iter().map(|order| order.field));
        let Some((by, order)) = by.zip(order) else { return Ok(None) };
        let partition = self.partition((image.key.entity, id), image.key.tenant.as_ref(), &by)?;
        let partition = self.shard_of(entity, list, (&partition, &image.key.id))?;
        let mut sort = order_prefix(entity, list, &order);
        // Ties are in order of creation, where that is known.
        if let Some(ordinal) = self.layout.ordinals().of(image) {
            push_key(&mut sort, &Value::from(ordinal));
        }
        sort.push_text(&image.key.id);
        check_len(&sort, RowKey::SORT_BYTES_MAX, || name_of_list(entity, list))?;
        Ok(Some(IndexKey { partition, sort }))
    }

    /// The values of `by` of an entity, if the list contains it.
    pub(super) fn by_values_of(&self, list: &List, image: &Image) -> Option<Vec<Value>> {
        let is_ordered =
            || list.order.iter().all(|order| image.value(self.layout, order.field).is_some());
        image.values_if(self.layout, &list.filter, &list.by).filter(|_| is_ordered())
    }

    /// The prefix of all sort keys of a list with these values of the first fields of its order.
    pub fn order_prefix(&self, (key, list): (EntityId, ListId), values: &[Value]) -> KeyBytes {
        let entity = self.layout.model().entity(key);
        order_prefix(entity, entity.list(list), values)
    }

    /// Reads the ordinal of an entity from its sort key in a list. `None` if its kind has no
    /// ordinals, or if the bytes are not such a key.
    pub fn ordinal_at(&self, (key, list): (EntityId, ListId), sort: &[u8]) -> Option<u64> {
        let entity = self.layout.model().entity(key);
        let order = self.order_at((key, list), sort)?;
        ordinal_of(&sort[order.len()..]).filter(|_| entity.has_ordinals())
    }

    /// The prefix of a sort key that the fields of the list's order make up. More bytes may follow
    /// the key. `None` if the bytes do not begin with such a key.
    pub fn order_at<'s>(
        &self,
        (key, list): (EntityId, ListId),
        sort: &'s [u8],
    ) -> Option<&'s [u8]> {
        let list = self.layout.model().entity(key).list(list);
        let rest = list.order.iter().try_fold(sort, |rest, order| match order.direction {
            Direction::Ascending => KeyBytes::skip_part(rest),
            Direction::Descending => KeyBytes::skip_descending(rest),
        });
        Some(&sort[..sort.len() - rest.ok()?.len()])
    }
}

/// The entities of a list with these values.
pub(super) struct ListPartition<'p> {
    pub(super) entity: &'p Entity,
    pub(super) list: &'p List,
    pub(super) tenant: Option<&'p Value>,
    /// One for each field of the list's `by`.
    pub(super) by: &'p [Value],
}

impl ListPartition<'_> {
    /// The partition key whose first part is `letter`: the list has more than one index.
    pub(super) fn key(&self, letter: &str) -> Result<KeyBytes, KeyTooLong> {
        let ListPartition { entity, list, tenant, by } = *self;
        let mut key = words(&[letter, &entity.stored, &list.name]);
        push_tenant(&mut key, tenant);
        push_values(&mut key, entity.select(&list.by), by);
        check_len(&key, RowKey::PARTITION_BYTES_MAX, || name_of_list(entity, list))?;
        Ok(key)
    }
}

fn order_prefix(entity: &Entity, list: &List, values: &[Value]) -> KeyBytes {
    let mut key = KeyBytes::new();
    for (order, value) in list.order.iter().zip(values) {
        let value = in_order(entity.field(order.field), value);
        // See `push_key`.
        let _ = match order.direction {
            Direction::Ascending => key.push(&value),
            Direction::Descending => key.push_descending(&value),
        };
    }
    key
}

pub(super) fn name_of_list(entity: &Entity, list: &List) -> String {
    format!("the list `{}` of `{}`", list.name, entity.name)
}
