//! The keys of rows, built from parts (`row_name.rs` reads them back). Only `KeyBytes` encodes parts, so no byte in
//! a value can produce the key of another row.
//!
//! ```text
//! row            PK                                      SK
//! an entity      "e", entity, [tenant], id               0
//! a child        "e", parent entity, [tenant], id        1, entity, field, [tenant], id
//! a reference    "e", target entity, [tenant], id        2, entity, field, [tenant], id
//! a presence     "t", entity, [tenant], id, shard        0
//! a guard        "u", entity, unique, [tenant], values   0
//! a posting      name of a list, see `postings.rs`       ordinal
//! an ordinal     "o", entity, [tenant], ordinal          0
//! a counter      see `counts.rs`, `leaderboards.rs`
//! Keyloom's own  "m", ...
//! ```
//!
//! The tenant is part of a key if the entity has one. Children are right after their parent: one
//! read returns both. Children of and references to a kind with shards have the shard after the id.

use keyloom_value::{Item, KeyBytes, Value};

use super::Layout;
use super::attribute::{PARTITION, SORT};
use crate::model::EntityId;

pub(super) const ENTITY: &str = "e";
pub(super) const GUARD: &str = "u";
pub(super) const PRESENCE: &str = "t";
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

/// The key of an index entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexKey {
    /// Its partition key.
    pub partition: KeyBytes,
    /// Its sort key.
    pub sort: KeyBytes,
}

/// Identifies an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityKey {
    /// Its kind.
    pub entity: EntityId,
    /// Its tenant, if it has one: a text or a number.
    pub tenant: Option<Value>,
    /// Its id.
    pub id: String,
}

impl RowKey {
    /// The longest partition key.
    pub const PARTITION_BYTES_MAX: usize = 2048;
    /// The longest sort key.
    pub const SORT_BYTES_MAX: usize = 1024;

    /// A system row.
    pub fn system(partition: &str, sort: &[Value]) -> RowKey {
        RowKey { partition: words(&[SYSTEM, partition]), sort: bytes(sort) }
    }

    /// A system row in a partition of its own, so that many of them do not share one.
    pub fn system_alone(name: &str, part: &[u8]) -> RowKey {
        let partition = bytes(&[SYSTEM.into(), name.into(), Value::B(part.to_vec())]);
        RowKey { partition, sort: own_sort() }
    }

    /// Whether the key is short enough. If not, there is no such row.
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

    /// The key of a row with these bytes, if they are a key.
    pub fn row_key(partition: &[u8], sort: &[u8]) -> Option<RowKey> {
        Some(RowKey { partition: rebuilt(partition)?, sort: rebuilt(sort)? })
    }

    /// The partition of an entity's own row, its children and the links to it.
    pub fn entity_partition(&self, key: &EntityKey) -> KeyBytes {
        let mut partition = words(&[ENTITY, self.stored(key.entity)]);
        push_owner(&mut partition, key);
        partition
    }

    /// The name of a kind in keys.
    pub(super) fn stored(&self, entity: EntityId) -> &str {
        &self.model().entity(entity).stored
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

pub(super) fn push_owner(key: &mut KeyBytes, owner: &EntityKey) {
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

/// Few keys that begin with words are longer than the words and this.
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
