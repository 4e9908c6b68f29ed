//! Links: a row with the target for each entity that refers to it. A child's link is a copy of the
//! child, so that one read returns a parent with its children.
//!
//! Links to a kind with shards are spread over partitions of their own, by the id of the owner. So are
//! its *presence rows*, which exist as long as the entity may be referred to: a new reference checks one
//! of them, where it would check the own row otherwise, so that writers who refer to one entity do not
//! meet in one row.

use std::collections::BTreeSet;

use keyloom_value::{KeyBytes, Value};

use super::attribute::{OWNER, REVISION};
use super::key::{CHILD, PRESENCE, REFERENCE, bytes, own_sort, push_owner, words};
use super::key_part::check_key;
use super::shards::{self, shard_of};
use super::{EntityKey, Image, KeyTooLong, Layout, Link, Reason, Row, RowKey};
use crate::model::EntityId;

/// The references between the entities of a layout, and the keys of their rows.
#[derive(Clone, Copy, Debug)]
pub struct References<'l> {
    layout: &'l Layout,
}

impl<'l> References<'l> {
    pub(super) fn new(layout: &'l Layout) -> References<'l> {
        References { layout }
    }

    /// The references of a kind to others, that to the parent first.
    pub fn of(&self, entity: EntityId) -> &'l [Link] {
        &self.layout.layout_of(entity).links
    }

    /// The references of others to a kind.
    pub fn to(&self, entity: EntityId) -> &'l [Link] {
        &self.layout.layout_of(entity).referrers
    }

    /// The range of sort keys of the children of one kind; without a kind, of all children and the
    /// parent's own row.
    pub fn children_range(&self, child: Option<EntityId>) -> (KeyBytes, Vec<u8>) {
        let (from, all) = match child {
            None => (own_sort(), bytes(&[Value::from(CHILD)])),
            Some(child) => {
                let all = bytes(&[CHILD.into(), self.layout.stored(child).into()]);
                (all.clone(), all)
            }
        };
        (from, KeyBytes::after_prefix(all.as_bytes()).unwrap_or_default())
    }

    /// The range of sort keys of everything that refers to an entity.
    pub fn range(&self) -> (KeyBytes, Vec<u8>) {
        let to = bytes(&[Value::from(REFERENCE)]);
        (bytes(&[Value::from(CHILD)]), KeyBytes::after_prefix(to.as_bytes()).unwrap_or_default())
    }

    /// The key of the row, in the target's partition, of an entity that refers to the target.
    pub fn key(&self, link: &Link, target_id: &str, owner: &EntityKey) -> RowKey {
        let tenant = if self.layout.has_tenant(link.target) { owner.tenant.clone() } else { None };
        let target = EntityKey { entity: link.target, tenant, id: target_id.to_owned() };
        let entity = self.layout.model().entity(owner.entity);
        let kind = if entity.parent == Some(link.field) { CHILD } else { REFERENCE };
        let mut sort = bytes(&[kind.into()]);
        sort.push_text(&entity.stored);
        sort.push_text(&entity.field(link.field).stored);
        push_owner(&mut sort, owner);
        let shards = self.shards(link.target);
        let base = self.layout.entity_partition(&target);
        RowKey { partition: shards::partition(&base, shard_of(&owner.id, shards), shards), sort }
    }

    /// Whether a row with this sort key is a link of a field that the model no longer has. It goes when its
    /// owner is rewritten.
    pub fn is_retired(&self, sort: &[u8]) -> bool {
        let parts = KeyBytes::decode(sort).unwrap_or_default();
        let [_, entity, field, ..] = &parts[..] else { return false };
        let entity = entity.as_s().and_then(|name| self.layout.model().find_stored(name));
        let retired = entity.map(|id| &self.layout.model().entity(id).retired);
        retired.zip(field.as_s()).is_some_and(|(retired, field)| retired.contains(field))
    }

    /// The partitions that have links to an entity.
    pub fn partitions(&self, target: &EntityKey) -> Vec<KeyBytes> {
        let (base, shards) = (self.layout.entity_partition(target), self.shards(target.entity));
        (0..shards).map(|shard| shards::partition(&base, shard, shards)).collect()
    }

    /// The partitions that may have links to an entity which were written under an earlier number of
    /// shards. They move to [`References::partitions`], never back: who reads these first, and then
    /// those, misses none. A partition can be among both.
    pub fn earlier_partitions(&self, target: &EntityKey) -> Vec<KeyBytes> {
        let (base, now) = (self.layout.entity_partition(target), self.shards(target.entity));
        let earlier = self.layout.layout_of(target.entity).earlier_reference_shards.iter();
        let earlier: BTreeSet<u32> = earlier.copied().filter(|shards| *shards != now).collect();
        let shards = |shards: u32| (0..shards).map(move |shard| (shard, shards));
        let keys: BTreeSet<KeyBytes> = earlier
            .into_iter()
            .flat_map(shards)
            .map(|(shard, shards)| shards::partition(&base, shard, shards))
            .collect();
        keys.into_iter().collect()
    }

    /// Whether entities of a kind have presence rows.
    pub fn has_presence(&self, entity: EntityId) -> bool {
        self.shards(entity) > 1
    }

    /// The row that exists as long as the target may be referred to, for this owner: a presence row, or
    /// the target's own.
    pub fn presence_key(&self, target: &EntityKey, owner_id: &str) -> RowKey {
        match self.shards(target.entity) {
            1 => self.layout.own_key(target),
            shards => self.presence_of(target, shard_of(owner_id, shards)),
        }
    }

    /// The presence rows of an entity.
    pub(super) fn presence_rows(
        &self,
        image: &Image,
        owner: &Value,
    ) -> Result<Vec<Row>, KeyTooLong> {
        let entity = self.layout.model().entity(image.key.entity);
        let shards = self.shards(image.key.entity);
        let count = if shards == 1 { 0 } else { shards };
        let row = |shard: u32| {
            let key = self.presence_of(&image.key, shard);
            check_key(&key, entity)?;
            let mut item = key.to_item();
            item.insert(OWNER, owner.clone());
            if let Some(expires) = entity.expires {
                let expires = entity.field(expires);
                item.insert(REVISION, u64::from(self.layout.revision()));
                if let Some(time) = image.fields.get(&expires.name) {
                    item.insert(expires.stored.as_str(), time.clone());
                }
            }
            Ok(Row { key, reason: Reason::Presence, item })
        };
        (0..count).map(row).collect()
    }

    fn presence_of(&self, target: &EntityKey, shard: u32) -> RowKey {
        let mut partition = words(&[PRESENCE, self.layout.stored(target.entity)]);
        push_owner(&mut partition, target);
        partition.append(&bytes(&[Value::from(u64::from(shard))]));
        RowKey { partition, sort: own_sort() }
    }

    fn shards(&self, target: EntityId) -> u32 {
        self.layout.shards(self.layout.model().entity(target).reference_shards)
    }
}

impl Layout {
    /// Adds the numbers of shards that references to entities of a kind were written under before.
    #[must_use]
    pub fn with_earlier_references(mut self, entity: EntityId, before: &Layout) -> Layout {
        let name = self.stored(entity).to_owned();
        let earlier = before.model().find_stored(&name).map(|id| before.references().shards(id));
        if let Some(layout) = self.entities.get_mut(entity.index()) {
            layout.earlier_reference_shards.extend(earlier);
        }
        self
    }
}
