//! The keys of rows: built from parts, and read back. Parts are encoded by `KeyBytes` alone, so no
//! byte in a value can make a key that belongs to something else.
//!
//! ```text
//! row            PK                                      SK
//! an entity      "e", entity, [tenant], id               0
//! a child        "e", parent entity, [tenant], id        1, entity, field, [tenant], id
//! a reference    "e", target entity, [tenant], id        2, entity, field, [tenant], id
//! a guard        "u", entity, unique, [tenant], values   0
//! an entry       the name of a group, see `matching.rs`  number
//! a number       see `counter.rs`
//! Keyloom's own  "m", ...
//! ```
//!
//! A tenant is there if the entity has one. Children stand right after their parent: one read
//! brings both.

use keyloom_value::{Item, KeyBytes, Value};

use super::attribute::{PARTITION, SORT};
use super::counter::is_counter;
use super::{Counter, Layout, Link, Matching};
use crate::model::{EntityId, FieldId, FieldOrigin, UniqueId};

pub(super) const ENTITY: &str = "e";
pub(super) const GUARD: &str = "u";
pub(super) const SYSTEM: &str = "m";

pub(super) const OWN: i32 = 0;
pub(super) const CHILD: i32 = 1;
pub(super) const REFERENCE: i32 = 2;

/// The primary key of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// Its partition key.
    pub partition: KeyBytes,
    /// Its sort key.
    pub sort: KeyBytes,
}

/// Which entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityKey {
    /// Of which kind.
    pub entity: EntityId,
    /// Whose, if it has a tenant: a text or a number.
    pub tenant: Option<Value>,
    /// Its id.
    pub id: String,
}

/// What a row is, as its key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowName {
    /// The row of an entity itself.
    Own(EntityKey),
    /// An entity, the target, has another one as a child or is referred to by it.
    Link {
        /// The one referred to.
        target: EntityKey,
        /// The field that refers.
        field: FieldId,
        /// The one that refers.
        owner: EntityKey,
    },
    /// A value is taken.
    Guard {
        /// By an entity of this kind.
        entity: EntityId,
        /// Which unique it is about.
        unique: UniqueId,
    },
    /// An entity is in a group.
    Entry {
        /// An entity of this kind.
        entity: EntityId,
    },
    /// A number that entities add up to.
    Counter(Counter),
    /// A row of Keyloom's own: models, tasks, receipts.
    System,
}

impl RowKey {
    /// As long as a partition key can be.
    pub const PARTITION_BYTES_MAX: usize = 2048;
    /// As long as a sort key can be.
    pub const SORT_BYTES_MAX: usize = 1024;

    /// A row of Keyloom's own.
    pub fn system(partition: &str, sort: &[Value]) -> RowKey {
        RowKey { partition: words(&[SYSTEM, partition]), sort: bytes(sort) }
    }

    /// A row of Keyloom's own in a partition for itself, so that many of them are in no one place.
    pub fn system_alone(name: &str, part: &[u8]) -> RowKey {
        let partition = bytes(&[SYSTEM.into(), name.into(), Value::B(part.to_vec())]);
        RowKey { partition, sort: own_sort() }
    }

    /// Whether a table can have such a key. If not, there is no such row.
    pub fn fits(&self) -> bool {
        self.partition.as_bytes().len() <= RowKey::PARTITION_BYTES_MAX
            && self.sort.as_bytes().len() <= RowKey::SORT_BYTES_MAX
    }

    /// The key attributes.
    pub fn to_item(&self) -> Item {
        Item::from([
            (PARTITION, Value::B(self.partition.as_bytes().to_vec())),
            (SORT, Value::B(self.sort.as_bytes().to_vec())),
        ])
    }
}

impl Layout {
    /// The key of an entity's own row.
    pub fn own_key(&self, key: &EntityKey) -> RowKey {
        RowKey { partition: self.entity_partition(key), sort: own_sort() }
    }

    /// The sort keys, from and to, between which the children of one kind stand; of all kinds and
    /// with the parent's own row before them if none is named.
    pub fn children_range(&self, child: Option<EntityId>) -> (KeyBytes, Vec<u8>) {
        let (from, all) = match child {
            None => (own_sort(), bytes(&[Value::from(CHILD)])),
            Some(child) => {
                let all = bytes(&[CHILD.into(), self.name(child).into()]);
                (all.clone(), all)
            }
        };
        (from, KeyBytes::after_prefix(all.as_bytes()).unwrap_or_default())
    }

    /// The sort keys, from and to, between which everything stands that refers to an entity.
    pub fn links_range(&self) -> (KeyBytes, Vec<u8>) {
        let to = bytes(&[Value::from(REFERENCE)]);
        (bytes(&[Value::from(CHILD)]), KeyBytes::after_prefix(to.as_bytes()).unwrap_or_default())
    }

    /// The key of the row that stands with the target for the one that refers to it.
    pub fn link_key(&self, link: &Link, target_id: &str, owner: &EntityKey) -> RowKey {
        let tenant = if self.has_tenant(link.target) { owner.tenant.clone() } else { None };
        let target = EntityKey { entity: link.target, tenant, id: target_id.to_owned() };
        let entity = self.model().entity(owner.entity);
        let kind = if entity.parent == Some(link.field) { CHILD } else { REFERENCE };
        let mut sort = bytes(&[kind.into()]);
        sort.push_text(&entity.name);
        sort.push_text(&entity.field(link.field).name);
        push_owner(&mut sort, owner);
        RowKey { partition: self.entity_partition(&target), sort }
    }

    /// The partition key of a guard; the values come after.
    pub(crate) fn guard_partition(&self, owner: &EntityKey, unique: UniqueId) -> KeyBytes {
        let tag = self.layout_of(owner.entity).guard_tags[unique.index()].as_str();
        let mut key = words(&[GUARD, self.name(owner.entity), tag]);
        push_tenant(&mut key, owner.tenant.as_ref());
        key
    }

    /// What a row is; `None` if no row of this layout has such a key.
    pub fn row_name(&self, partition: &[u8], sort: &[u8]) -> Option<RowName> {
        let mut parts = KeyBytes::decode(partition).ok()?.into_iter();
        match parts.next()?.as_s()? {
            SYSTEM => Some(RowName::System),
            GUARD => {
                let entity = self.model().find(parts.next()?.as_s()?)?;
                let tag = parts.next()?;
                let tags = &self.layout_of(entity).guard_tags;
                let unique = tags.iter().position(|other| Some(other.as_str()) == tag.as_s())?;
                let unique = UniqueId(u16::try_from(unique).ok()?);
                (sort == own_sort().as_bytes()).then_some(RowName::Guard { entity, unique })
            }
            ENTITY => {
                let target = self.owner(&mut parts)?;
                parts.next().is_none().then_some(())?;
                self.row_of(target, sort)
            }
            _ if is_counter(partition) => {
                let key = RowKey { partition: rebuilt(partition)?, sort: rebuilt(sort)? };
                self.counter(&key).map(RowName::Counter)
            }
            _ => {
                let entity = self.group_entity(partition)?;
                let is_entry = self.matching() == Matching::Rows
                    && matches!(&KeyBytes::decode(sort).ok()?[..], [.., Value::N(_)]);
                is_entry.then_some(RowName::Entry { entity })
            }
        }
    }

    /// Which entity's own row lies at a partition key.
    pub fn entity_key(&self, partition: &[u8]) -> Option<EntityKey> {
        match self.row_name(partition, own_sort().as_bytes())? {
            RowName::Own(key) => Some(key),
            RowName::Link { .. }
            | RowName::Guard { .. }
            | RowName::Entry { .. }
            | RowName::Counter(_)
            | RowName::System => None,
        }
    }

    fn row_of(&self, target: EntityKey, sort: &[u8]) -> Option<RowName> {
        let mut parts = KeyBytes::decode(sort).ok()?.into_iter();
        let kind = parts.next()?.as_n()?.to_i64()?;
        if kind == i64::from(OWN) {
            return parts.next().is_none().then_some(RowName::Own(target));
        }
        let entity_name = parts.next()?;
        let entity = self.model().find(entity_name.as_s()?)?;
        let field_name = parts.next()?;
        let field = self.model().entity(entity).find_field(field_name.as_s()?)?;
        let origin = self.model().entity(entity).field(field).origin;
        let expected = if origin == FieldOrigin::Parent { CHILD } else { REFERENCE };
        let mut owner = std::iter::once(entity_name).chain(parts);
        let owner = self.owner(&mut owner).filter(|_| kind == i64::from(expected))?;
        Some(RowName::Link { target, field, owner })
    }

    /// Reads `entity, [tenant], id`.
    fn owner(&self, parts: &mut impl Iterator<Item = Value>) -> Option<EntityKey> {
        let entity = self.model().find(parts.next()?.as_s()?)?;
        let tenant = if self.has_tenant(entity) { Some(parts.next()?) } else { None };
        let id = parts.next()?.as_s()?.to_owned();
        Some(EntityKey { entity, tenant, id })
    }

    /// The partition in which an entity stands with everything that belongs to it.
    pub fn entity_partition(&self, key: &EntityKey) -> KeyBytes {
        let mut partition = words(&[ENTITY, self.name(key.entity)]);
        push_owner(&mut partition, key);
        partition
    }

    fn name(&self, entity: EntityId) -> &str {
        &self.model().entity(entity).name
    }

    /// Whether entities of this kind belong to tenants.
    pub fn has_tenant(&self, entity: EntityId) -> bool {
        self.model().entity(entity).has_tenant()
    }
}

/// The key of these bytes, if it is one.
fn rebuilt(key: &[u8]) -> Option<KeyBytes> {
    Some(bytes(&KeyBytes::decode(key).ok()?))
}

pub(crate) fn own_sort() -> KeyBytes {
    bytes(&[Value::from(OWN)])
}

fn push_owner(key: &mut KeyBytes, owner: &EntityKey) {
    push_tenant(key, owner.tenant.as_ref());
    key.push_text(&owner.id);
}

pub(crate) fn push_tenant(key: &mut KeyBytes, tenant: Option<&Value>) {
    if let Some(tenant) = tenant {
        push(key, tenant);
    }
}

/// Only texts, numbers and bytes are pushed in this crate; anything else would be left out.
fn push(key: &mut KeyBytes, value: &Value) {
    let pushed = key.push(value);
    debug_assert!(pushed.is_ok(), "{value:?} cannot be part of a key");
}

/// Most keys that begin with words are not longer than the words and this.
const REST_BYTES: usize = 48;

/// A key that begins with these words.
pub(crate) fn words(words: &[&str]) -> KeyBytes {
    let bytes: usize = words.iter().map(|word| word.len() + 3).sum();
    let mut key = KeyBytes::with_capacity(bytes + REST_BYTES);
    words.iter().for_each(|word| key.push_text(word));
    key
}

pub(crate) fn bytes(parts: &[Value]) -> KeyBytes {
    let mut key = KeyBytes::new();
    for part in parts {
        push(&mut key, part);
    }
    key
}
