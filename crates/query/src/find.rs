//! The entity that has a unique value.

use keyloom_model::attribute::OWNER;
use keyloom_model::{
    EntityId, EntityKey, FieldId, FieldOrigin, Image, OwnRow, RowKey, UniqueId, Unreadable,
};
use keyloom_value::Value;

use crate::fetch::unreadable;
use crate::request_error::{check_tenant, check_values};
use crate::{Error, Reader};

/// A value can move from one entity to another between the two reads. More often in a row than this,
/// it is not by chance: the guard is damaged.
const ATTEMPTS: usize = 4;

impl Reader<'_> {
    /// Returns the entity that has these values of a unique, if it exists and is visible. The values
    /// are that of the field in `within` first, if there is one, then those of the fields. Two reads.
    ///
    /// # Errors
    ///
    /// If the values do not fit the fields, the store fails, or a row is damaged.
    pub async fn find(
        &self,
        entity: EntityId,
        tenant: Option<&Value>,
        unique: UniqueId,
        values: &[Value],
    ) -> Result<Option<OwnRow>, Error> {
        check_tenant(self.layout, entity, tenant)?;
        let declared = self.layout.model().entity(entity);
        let fields = self.unique_fields(entity, unique);
        check_values(declared, || format!("A unique of `{}`", declared.name), &fields, values)?;
        // The key of a guard has only the kind and the tenant of its owner.
        let anyone = EntityKey { entity, tenant: tenant.cloned(), id: String::new() };
        let Ok(guard) = self.layout.uniques().guard_key(&anyone, unique, values) else {
            return Ok(None);
        };
        for _ in 0..ATTEMPTS {
            let Some(owner) = self.guard_owner(&guard).await? else { return Ok(None) };
            let row = self.get_any(&owner).await?;
            let Some(row) = row.filter(|row| self.has_guard(&row.image, unique, &guard)) else {
                continue;
            };
            // A deletion may have cleared a reference that is part of the value.
            let seen = self.seen(row).await?;
            return Ok(seen.filter(|row| self.has_guard(&row.image, unique, &guard)));
        }
        Ok(None)
    }

    async fn guard_owner(&self, guard: &RowKey) -> Result<Option<EntityKey>, Error> {
        let Some(row) = self.row(guard).await? else { return Ok(None) };
        let owner = row.get(OWNER).and_then(Value::as_b);
        match owner.and_then(|owner| self.layout.entity_key(owner)) {
            Some(owner) => Ok(Some(owner)),
            None => Err(unreadable(&row, Unreadable { attribute: OWNER })),
        }
    }

    /// Whether the entity, as it is, implies the guard.
    fn has_guard(&self, image: &Image, unique: UniqueId, guard: &RowKey) -> bool {
        let entity = self.layout.model().entity(image.key.entity);
        let value = |field: &FieldId| {
            let field = entity.field(*field);
            match field.origin {
                FieldOrigin::Id => Some(Value::from(image.key.id.as_str())),
                FieldOrigin::Parent | FieldOrigin::Declared => {
                    image.fields.get(&field.name).cloned()
                }
            }
        };
        let fields = self.unique_fields(image.key.entity, unique);
        let values: Option<Vec<Value>> = fields.iter().map(value).collect();
        let implied = values
            .and_then(|values| self.layout.uniques().guard_key(&image.key, unique, &values).ok());
        implied.as_ref() == Some(guard)
    }

    /// The fields of a unique, in the order in which its values are given.
    fn unique_fields(&self, entity: EntityId, unique: UniqueId) -> Vec<FieldId> {
        let unique = self.layout.model().entity(entity).unique(unique);
        unique.within.iter().chain(&unique.fields).copied().collect()
    }
}
