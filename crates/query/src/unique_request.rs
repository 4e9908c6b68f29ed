//! Which unique value to find.

use keyloom_model::{EntityId, UniqueId};
use keyloom_value::Value;

/// A request for the entity that has a unique value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniqueRequest {
    /// The kind of entity.
    pub entity: EntityId,
    /// The tenant, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// The unique.
    pub unique: UniqueId,
    /// One value for each of its fields: that of the field in `within` first, if there is one.
    pub values: Vec<Value>,
}
