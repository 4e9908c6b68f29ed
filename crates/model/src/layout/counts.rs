//! Keys of declared counts: one counter for each combination of values of `split`.
//!
//! ```text
//! partition   "q", entity, count, [tenant], by, [shard]
//! sort        names of fields, values, [shard], [deletions]
//! ```
//!
//! After the values of fields comes the beginning of a window if the counter is one of a window, with
//! the name `@`. Entities with the same value of a field that has a `min` or a `max` are counted, too:
//! the value comes last, and `^` is before the name of its field. The first and the last of these
//! counters have the least and the greatest value.
//!
//! The shard is in the partition key on a store that has a limit for each partition. On others it is
//! in the sort key, where it was before there were such partitions.

use keyloom_value::{KeyBytes, Value};

use super::key::{push_tenant, words};
use super::key_part::{check_len, push_key, push_values};
use super::pending::split;
use super::shards::partitions;
use super::{KeyTooLong, Layout, RowKey};
use crate::model::{Count, CountId, Entity, EntityId, FieldId};

/// First part of the partition keys.
pub(super) const COUNTED: &str = "q";

/// The name of a window among the names of fields.
const WINDOW: &str = "@";
/// What the name of a field begins with whose values are kept in order.
const IN_ORDER: char = '^';

/// What counters of a count are kept by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// In the order of the count's `split`.
    pub fields: Vec<FieldId>,
    /// Whether each is of one window.
    pub in_windows: bool,
    /// The field whose values are kept in order, if each counts the entities with one value of it.
    pub in_order: Option<FieldId>,
}

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
        let mut key = words(&[COUNTED, &entity.stored, &count.name]);
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

    /// The number of shards that each counter is spread over.
    pub fn shard_count(&self, entity: EntityId, count: CountId) -> u32 {
        self.layout.shards(self.layout.model().entity(entity).count(count).shards)
    }

    /// The prefix of the sort keys of the counters that are kept by these fields and have these values
    /// of the first of them. After a value for each field, there may be the beginning of a window, then
    /// the value that is kept in order.
    pub fn prefix(&self, entity: EntityId, kept_by: &Breakdown, values: &[Value]) -> KeyBytes {
        count_prefix(self.layout.model().entity(entity), kept_by, values)
    }

    /// Reads what a counter is kept by from its sort key: a value for each field, then the beginning of
    /// the window and the value that is kept in order, if it has them.
    pub fn values(&self, entity: EntityId, kept_by: &Breakdown, sort: &[u8]) -> Option<Vec<Value>> {
        let parts = KeyBytes::decode(sort).ok()?;
        let fields = &kept_by.fields;
        let others = usize::from(kept_by.in_windows) + usize::from(kept_by.in_order.is_some());
        let (values, others) =
            parts.get(1..=fields.len() + others)?.split_at_checked(fields.len())?;
        let values = values.iter().zip(fields);
        let values = values.map(|(value, field)| self.layout.value_from_key(entity, *field, value));
        Some(values.chain(others.iter().cloned()).collect())
    }

    /// Reads the deletions that take from a counter, if a row with this sort key counts how much.
    pub fn takers(sort: &[u8]) -> Option<Vec<String>> {
        let parts = KeyBytes::decode(sort).ok()?;
        let names = parts.first()?.as_s()?;
        let values = if names.is_empty() { 0 } else { names.split(',').count() };
        parts.get(1 + values..)?.last()?.as_s().map(split)
    }
}

/// What each counter of a count is kept by: every subset of `split`, the empty one first, without and
/// with windows, as one number and by value of each field that is kept in order.
pub(super) fn breakdowns(count: &Count) -> Vec<Breakdown> {
    let subsets = count.split.iter().fold(vec![vec![]], |subsets, field| {
        let with = subsets.iter().map(|subset| [subset.as_slice(), &[*field]].concat());
        let with: Vec<Vec<FieldId>> = with.collect();
        [subsets, with].concat()
    });
    let mut all = vec![];
    for fields in subsets {
        for in_windows in [false, true].into_iter().take(1 + usize::from(count.window.is_some())) {
            let one = Breakdown { fields: fields.clone(), in_windows, in_order: None };
            let by_value = count.extremes().into_iter();
            all.extend(by_value.map(|field| Breakdown { in_order: Some(field), ..one.clone() }));
            all.push(one);
        }
    }
    all
}

/// The names of the fields separate counters that are kept by different fields.
pub(super) fn count_prefix(entity: &Entity, kept_by: &Breakdown, values: &[Value]) -> KeyBytes {
    let mut key = words(&[&names_in_key(entity, kept_by)]);
    push_values(&mut key, entity.select(&kept_by.fields), values);
    values.iter().skip(kept_by.fields.len()).for_each(|value| push_key(&mut key, value));
    key
}

pub(super) fn names_in_key(entity: &Entity, kept_by: &Breakdown) -> String {
    let names = entity.select(&kept_by.fields).map(|field| field.stored.clone());
    let window = kept_by.in_windows.then(|| WINDOW.to_owned());
    let in_order =
        kept_by.in_order.map(|field| format!("{IN_ORDER}{}", entity.field(field).stored));
    names.chain(window).chain(in_order).collect::<Vec<_>>().join(",")
}

/// Whether a sort key is one of the counters of values in order.
pub(super) fn is_in_order(sort: &[u8]) -> bool {
    let names = KeyBytes::decode_part(sort).ok();
    let last = names.as_ref().and_then(|(names, _)| names.as_s()?.rsplit(',').next());
    last.is_some_and(|name| name.starts_with(IN_ORDER))
}

pub(super) fn name_of_count(entity: &Entity, count: &Count) -> String {
    format!("the count `{}` of `{}`", count.name, entity.name)
}
