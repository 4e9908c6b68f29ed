//! When entities expire. A row that was written before the `expires` field existed does not have
//! it; its entity expires at the field's default, as if the row had been rewritten already.

use keyloom_value::Value;

use super::{Layout, OwnRow};
use crate::model::EntityId;

/// The expiry of rows that are older than the `expires` field of their entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiryDefault {
    /// The last revision that does not have the field.
    pub revision: u32,
    /// When rows of that revision and of earlier ones expire, in milliseconds since 1970.
    pub time_ms: i64,
}

impl Layout {
    /// Returns the same layout for a table with rows that are older than the `expires` field of an
    /// entity.
    #[must_use]
    pub fn with_expiry_default(mut self, entity: EntityId, default: ExpiryDefault) -> Layout {
        if let Some(layout) = self.entities.get_mut(entity.index()) {
            layout.expiry_default = Some(default);
        }
        self
    }

    /// Returns the expiry of rows that are older than the `expires` field, if there can be any.
    pub fn expiry_default(&self, entity: EntityId) -> Option<ExpiryDefault> {
        self.layout_of(entity).expiry_default
    }

    /// Returns the time at which an entity expires; none if it never does.
    pub fn expiry(&self, row: &OwnRow) -> Option<Value> {
        let entity = self.model.entity(row.image.key.entity);
        let field = entity.field(entity.expires?);
        match self.expiry_default(row.image.key.entity) {
            Some(default) if row.revision <= default.revision => Some(Value::from(default.time_ms)),
            Some(_) | None => row.image.fields.get(&field.name).cloned(),
        }
    }
}
