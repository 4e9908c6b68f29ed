//! Keys of declared counts: one counter for each combination of values of `split`.
//!
//! ```text
//! partition   "q", entity, count, [tenant], by, [shard]
//! sort        names of fields, values, [shard], [deletions]
//! ```
//!
//! The shard is in the partition key on a store that has a limit for each partition. On others it is
//! in the sort key, where it was before there were such partitions.

use keyloom_value::{KeyBytes, Value};

use super::key::{push_tenant, words};
use super::key_part::{check_len, push_values};
use super::pending::split;
use super::shards::partitions;
use super::{KeyTooLong, Layout, RowKey};
use crate::model::{Count, CountId, Entity, EntityId, FieldId};

/// First part of the partition keys.
pub(super) const COUNTED: &str = "q";

/// Keys of the declared counts of a layout.
#[derive(Clone, Copy, Debug)]
pub struct CountKeys<'l> {
    layout: &'l Layout,
}

impl<'l> CountKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> CountKeys<'l> {
        CountKeys { layout }
    }

    /// The partition of a count's counters, for a tenant if the entity has one, and one value for
    /// each field of `by`.
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn partition(
        &self,
        (id, count): (EntityId, CountId),
        tenant: Option<&Value>,
        by: &[Value],
    ) -> Result<KeyBytes, KeyTooLong> {
        let entity = self.layout.model().entity(id);
        let count = entity.count(count);
        let mut key = words(&[COUNTED, &entity.name, &count.name]);
        push_tenant(&mut key, tenant);
        push_values(&mut key, entity.select(&count.by), by);
        check_len(&key, RowKey::PARTITION_BYTES_MAX, || name_of_count(entity, count))?;
        Ok(key)
    }

    /// The partitions of its shards, from the partition of a count.
    ///
    /// # Errors
    ///
    /// As [`CountKeys::partition`].
    pub fn shards(
        &self,
        (id, count): (EntityId, CountId),
        partition: &KeyBytes,
    ) -> Result<Vec<KeyBytes>, KeyTooLong> {
        let entity = self.layout.model().entity(id);
        let count = entity.count(count);
        partitions(partition, self.layout.shards(count.shards), || name_of_count(entity, count))
    }

    /// The prefix of the sort keys of the counters that are split by these fields, in the order of
    /// `split`, and have these values of the first of them.
    pub fn prefix(&self, entity: EntityId, fields: &[FieldId], values: &[Value]) -> KeyBytes {
        count_prefix(self.layout.model().entity(entity), fields, values)
    }

    /// Reads the values that a counter is split by from its sort key.
    pub fn values(&self, entity: EntityId, fields: &[FieldId], sort: &[u8]) -> Option<Vec<Value>> {
        let parts = KeyBytes::decode(sort).ok()?;
        let values = parts.get(1..=fields.len())?.iter().zip(fields);
        Some(
            values
                .map(|(value, field)| self.layout.value_from_key(entity, *field, value))
                .collect(),
        )
    }

    /// Reads the deletions that take from a counter, if a row with this sort key counts how much.
    pub fn takers(sort: &[u8]) -> Option<Vec<String>> {
        let parts = KeyBytes::decode(sort).ok()?;
        let names = parts.first()?.as_s()?;
        let values = if names.is_empty() { 0 } else { names.split(',').count() };
        parts.get(1 + values..)?.last()?.as_s().map(split)
    }
}

/// Every subset of these fields, in their order; the empty one first.
pub(super) fn subsets(fields: &[FieldId]) -> Vec<Vec<FieldId>> {
    fields.iter().fold(vec![vec![]], |subsets, field| {
        let with = subsets.iter().map(|subset| [subset.as_slice(), &[*field]].concat());
        let with: Vec<Vec<FieldId>> = with.collect();
        [subsets, with].concat()
    })
}

/// The names of the fields separate counters that are split by different fields.
pub(super) fn count_prefix(entity: &Entity, fields: &[FieldId], values: &[Value]) -> KeyBytes {
    let names: Vec<&str> = entity.select(fields).map(|field| field.name.as_str()).collect();
    let mut key = words(&[&names.join(",")]);
    push_values(&mut key, entity.select(fields), values);
    key
}

pub(super) fn name_of_count(entity: &Entity, count: &Count) -> String {
    format!("the count `{}` of `{}`", count.name, entity.name)
}
