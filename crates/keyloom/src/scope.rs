//! The model as one caller uses it: names of entities become ids, and ids become keys of the
//! caller's tenant.

use keyloom_model::{Entity, EntityId, EntityKey};
use keyloom_value::Value;

use crate::access::{User, check_readable};
use crate::error::{Error, TenantProblem};
use crate::schema::Schema;
use crate::unknown::find_entity;

/// A schema, and the tenant and the user that calls.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) tenant: Option<&'s Value>,
    pub(crate) user: Option<&'s User>,
}

impl<'s> Scope<'s> {
    /// The entity with a name.
    pub(crate) fn entity(&self, name: &str) -> Result<(EntityId, &'s Entity), Error> {
        find_entity(self.schema, name)
    }

    /// Fails if the user can read no entity of this kind.
    pub(crate) fn check_readable(&self, entity: EntityId) -> Result<(), Error> {
        check_readable(self.user, self.schema.model(), entity)
    }

    /// The key of an entity of this tenant.
    pub(crate) fn key(&self, entity: EntityId, id: impl Into<String>) -> Result<EntityKey, Error> {
        Ok(EntityKey { entity, tenant: self.tenant_of(entity)?, id: id.into() })
    }

    /// The tenant, if entities of this kind belong to one.
    pub(crate) fn tenant_of(&self, entity: EntityId) -> Result<Option<Value>, Error> {
        let model = self.schema.model();
        let Some(field) = model.tenant_field(entity) else { return Ok(None) };
        let entity = &model.entity(entity).name;
        let problem = |problem| Error::Tenant { entity: entity.clone(), problem };
        let tenant = self.tenant.ok_or_else(|| problem(TenantProblem::Missing))?;
        match field.check(tenant) {
            Ok(()) => Ok(Some(tenant.clone())),
            Err(_) => Err(problem(TenantProblem::Unfit)),
        }
    }
}
