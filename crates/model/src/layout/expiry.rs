//! Keys of the index by time of expiry, which all tenants of an entity share.
//!
//! ```text
//! partition   "x", entity
//! sort        time, [tenant], id
//! ```

use keyloom_value::{KeyBytes, Value};

use super::key::{push_tenant, words};
use super::key_part::push_key;
use super::{EntityKey, IndexKey, Layout, Slot};
use crate::model::EntityId;

/// First part of the partition keys.
pub(super) const EXPIRY: &str = "x";

/// Keys of the index by time of expiry.
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

    /// The partition of all entities of a kind, by time of expiry.
    pub fn partition(&self, entity: EntityId) -> KeyBytes {
        words(&[EXPIRY, &self.layout.model().entity(entity).name])
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
