//! Keys of the index by time of expiry, which all tenants of an entity share.
//!
//! ```text
//! partition   "x", entity
//! sort        time, [tenant], id
//! ```
//!
//! A row that was written before the `expires` field existed does not have it; its entity expires at
//! the field's default, as if the row had been rewritten already.

use keyloom_value::{KeyBytes, Value};

use super::key::{push_tenant, words};
use super::key_part::push_key;
use super::{EntityKey, IndexKey, Layout, OwnRow, Slot};
use crate::model::EntityId;

/// First part of the partition keys.
pub(super) const EXPIRY: &str = "x";

/// The expiry of rows that are older than the `expires` field of their entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiryDefault {
    /// The last revision that does not have the field.
    pub revision: u32,
    /// When rows of that revision and of earlier ones expire, in milliseconds since 1970.
    pub time_ms: i64,
}

/// When entities expire, and the keys of the index by time of expiry.
#[derive(Clone, Copy, Debug)]
pub struct ExpiryKeys<'l> {
    layout: &'l Layout,
}

impl<'l> ExpiryKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> ExpiryKeys<'l> {
        ExpiryKeys { layout }
    }

    /// The index by time of expiry, if entities of this kind expire.
    pub fn slot(&self, entity: EntityId) -> Option<Slot> {
        self.layout.layout_of(entity).slots.expiry
    }

    /// The expiry of rows that are older than the `expires` field, if there can be any.
    pub fn default(&self, entity: EntityId) -> Option<ExpiryDefault> {
        self.layout.layout_of(entity).expiry_default
    }

    /// The time at which an entity expires; none if it never does.
    pub fn time(&self, row: &OwnRow) -> Option<Value> {
        let entity = self.layout.model().entity(row.image.key.entity);
        let field = entity.field(entity.expires?);
        match self.default(row.image.key.entity) {
            Some(default) if row.revision <= default.revision => Some(Value::from(default.time_ms)),
            Some(_) | None => row.image.fields.get(&field.name).cloned(),
        }
    }

    /// The partition of all entities of a kind, by time of expiry.
    pub fn partition(&self, entity: EntityId) -> KeyBytes {
        words(&[EXPIRY, self.layout.stored(entity)])
    }

    /// The key of an entity that expires at `time`.
    pub(super) fn index_key(&self, key: &EntityKey, time: &Value) -> IndexKey {
        let mut sort = KeyBytes::new();
        push_key(&mut sort, time);
        push_tenant(&mut sort, key.tenant.as_ref());
        sort.push_text(&key.id);
        IndexKey { partition: self.partition(key.entity), sort }
    }
}

impl Layout {
    /// The same layout for a table with rows that are older than the `expires` field of an entity.
    #[must_use]
    pub fn with_expiry_default(mut self, entity: EntityId, default: ExpiryDefault) -> Layout {
        if let Some(layout) = self.entities.get_mut(entity.index()) {
            layout.expiry_default = Some(default);
        }
        self
    }
}
