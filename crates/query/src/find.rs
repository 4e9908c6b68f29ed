//! The entity that has a unique value.

use keyloom_model::attribute::OWNER;
use keyloom_model::{EntityKey, FieldId, FieldOrigin, Image, OwnRow, RowKey, UniqueId, Unreadable};
use keyloom_value::Value;

use crate::error::unreadable;
use crate::request_error::{GivenValues, check_tenant};
use crate::{Error, Reader, RequestError, UniqueRequest};

/// A value can move from one entity to another between the two reads. More often in a row than this,
/// it is not by chance: the guard is damaged.
const ATTEMPTS: usize = 4;

/// A checked request, and the guard of its values: the row that names their owner.
pub(crate) struct UniqueQuery<'q> {
    reader: &'q Reader<'q>,
    unique: UniqueId,
    /// In the order in which values are given.
    fields: Vec<FieldId>,
    /// None if the values do not fit into a key: then no entity has them.
    guard: Option<RowKey>,
}

impl<'q> UniqueQuery<'q> {
    pub(crate) fn new(
        reader: &'q Reader<'q>,
        request: &UniqueRequest,
    ) -> Result<UniqueQuery<'q>, RequestError> {
        let UniqueRequest { entity: id, tenant, unique, values } = request;
        check_tenant(reader.layout, *id, tenant.as_ref())?;
        let entity = reader.layout.model().entity(*id);
        let declared = entity.unique(*unique);
        let fields: Vec<FieldId> =
            declared.within.iter().chain(&declared.fields).copied().collect();
        GivenValues { entity, fields: &fields, values }
            .check(|| format!("A unique of `{}`", entity.name))?;
        // The key of a guard has only the kind and the tenant of its owner.
        let anyone = EntityKey { entity: *id, tenant: tenant.clone(), id: String::new() };
        let guard = reader.layout.uniques().guard_key(&anyone, *unique, values).ok();
        Ok(UniqueQuery { reader, unique: *unique, fields, guard })
    }

    /// Returns the entity that has the values, if it exists and is visible.
    pub(crate) async fn find(&self) -> Result<Option<OwnRow>, Error> {
        let Some(guard) = &self.guard else { return Ok(None) };
        for _ in 0..ATTEMPTS {
            let Some(owner) = self.owner(guard).await? else { return Ok(None) };
            let row = self.reader.get_any(&owner).await?;
            let Some(row) = row.filter(|row| self.has_guard(&row.image)) else { continue };
            // A deletion may have cleared a reference that is part of the value.
            let seen = self.reader.seen(row).await?;
            return Ok(seen.filter(|row| self.has_guard(&row.image)));
        }
        Ok(None)
    }

    /// Reads the owner that a guard names.
    async fn owner(&self, guard: &RowKey) -> Result<Option<EntityKey>, Error> {
        let Some(row) = self.reader.rows().get(guard).await? else { return Ok(None) };
        let owner = row.get(OWNER).and_then(Value::as_b);
        match owner.and_then(|owner| self.reader.layout.entity_key(owner)) {
            Some(owner) => Ok(Some(owner)),
            None => Err(unreadable(&row, Unreadable { attribute: OWNER })),
        }
    }

    /// Whether the entity, as it is, implies the guard.
    fn has_guard(&self, image: &Image) -> bool {
        let layout = self.reader.layout;
        let entity = layout.model().entity(image.key.entity);
        let value = |field: &FieldId| {
            let field = entity.field(*field);
            match field.origin {
                FieldOrigin::Id => Some(Value::from(image.key.id.as_str())),
                FieldOrigin::Parent | FieldOrigin::Declared => {
                    image.fields.get(&field.name).cloned()
                }
            }
        };
        let values: Option<Vec<Value>> = self.fields.iter().map(value).collect();
        let implied = values
            .and_then(|values| layout.uniques().guard_key(&image.key, self.unique, &values).ok());
        implied.is_some() && implied == self.guard
    }
}
