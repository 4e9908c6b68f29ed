//! Taking entities in with the ids that they have: those of another database, or of a file.

use std::sync::atomic::Ordering;

use keyloom_model::check_id;

use crate::answer::Answer;
use crate::db::{Db, find_entity};
use crate::entry::Entry;
use crate::error::{Error, TenantProblem};
use crate::schema::Schema;
use crate::write::{ACTIONS_MAX, Intent, WriteRequest};

/// What to do with an entry whose id is there already, with other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and that is an error.
    Keep,
    /// It gets the fields of the entry.
    Replace,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// There was none with its id.
    Created,
    /// It was there and is as it was.
    Unchanged,
    /// It was there with other fields.
    Replaced,
}

impl Db {
    /// Takes entities in, together or not at all, through the same checks as any change; each with
    /// its own id, also where ids are made, and for its own tenant. An entry that is there already
    /// is left as it is, so what was interrupted can be begun anew.
    ///
    /// A field that is left out gets its default, but `now` stays what it was.
    ///
    /// # Errors
    ///
    /// As [`Db::transact`]; [`Error::Exists`] if one is there with other fields and stays.
    pub fn import(&self, entries: Vec<Entry>, existing: Existing) -> Answer<'_, Vec<Imported>> {
        Box::pin(async move {
            let (rows, rows_max) = (entries.len(), ACTIONS_MAX);
            if rows > rows_max {
                return Err(Error::TooLarge { rows, rows_max });
            }
            let schema = self.shared.schema();
            let intents = entries.into_iter().map(|entry| self.importing(&schema, entry, existing));
            let intents = intents.collect::<Result<Vec<Intent>, Error>>()?;
            let (executor, request) = (self.shared.executor(&schema), WriteRequest::from(intents));
            let are_new = &self.shared.imports_are_new;
            let executed = match are_new.load(Ordering::Relaxed) {
                true => executor.execute_new(&request).await,
                false => executor.execute(&request).await,
            };
            let executed = executed.inspect_err(|_| are_new.store(false, Ordering::Relaxed))?;
            let imported =
                executed.iter().map(|executed| match executed.version_before.as_deref() {
                    None => Imported::Created,
                    version if version == executed.version_after() => Imported::Unchanged,
                    Some(_) => Imported::Replaced,
                });
            let imported: Vec<Imported> = imported.collect();
            let created = imported.iter().all(|imported| *imported == Imported::Created);
            are_new.store(created, Ordering::Relaxed);
            Ok(imported)
        })
    }

    fn importing(
        &self,
        schema: &Schema,
        entry: Entry,
        existing: Existing,
    ) -> Result<Intent, Error> {
        let (kind, declared) = find_entity(schema, &entry.entity)?;
        if entry.tenant.is_some() && !schema.layouts.current.has_tenant(kind) {
            let what = format!("`{}` has no tenants", entry.entity);
            return Err(Error::Unknown { what, help: Some("omit `tenant`".to_owned()) });
        }
        if self.tenant.is_some() && entry.tenant.is_some() && self.tenant != entry.tenant {
            return Err(Error::Tenant { entity: entry.entity, problem: TenantProblem::Other });
        }
        check_id(&entry.id).map_err(|error| Error::Fields {
            entity: declared.name.clone(),
            errors: vec![error],
        })?;
        let tenant = entry.tenant.or_else(|| self.tenant.clone());
        let db = Db { tenant, ..self.clone() };
        let key = db.key(schema, kind, entry.id)?;
        Ok(Intent::Import { key, document: entry.fields, existing })
    }
}
