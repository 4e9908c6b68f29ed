//! Whose an entity is: its key says so, and its own tenant field, if it has one, says the same.

use keyloom_model::{EntityKey, Tenancy};
use keyloom_value::Item;

use super::WriteContext;
use crate::error::{Error, TenantProblem};

impl WriteContext<'_> {
    /// The document with the tenant field of the key; a document need not name it.
    pub(crate) fn with_tenant(&self, key: &EntityKey, document: &Item) -> Result<Item, Error> {
        let mut document = document.clone();
        if let Some(name) = self.tenant_field(key)
            && let Some(tenant) = &key.tenant
            && !document.contains(name)
        {
            document.insert(name, tenant.clone());
        }
        self.same_tenant(key, &document)?;
        Ok(document)
    }

    /// An entity never goes to another tenant.
    pub(crate) fn same_tenant(&self, key: &EntityKey, fields: &Item) -> Result<(), Error> {
        let Some(name) = self.tenant_field(key) else { return Ok(()) };
        if fields.get(name) == key.tenant.as_ref() {
            return Ok(());
        }
        let entity = self.entity(key).name.clone();
        Err(Error::Tenant { entity, problem: TenantProblem::Other })
    }

    fn tenant_field(&self, key: &EntityKey) -> Option<&str> {
        let entity = self.entity(key);
        match entity.tenancy {
            Tenancy::Own(field) => Some(entity.field(field).name.as_str()),
            Tenancy::Shared | Tenancy::Inherited(_) => None,
        }
    }
}
