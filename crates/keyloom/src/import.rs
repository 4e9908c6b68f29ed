//! Imports: entities keep their ids, from another database or from a file.

use std::sync::atomic::Ordering;

use crate::answer::Answer;
use crate::change::check_chosen_id;
use crate::db::Db;
use crate::entry::Entry;
use crate::error::{Error, TenantProblem};
use crate::schema::Schema;
use crate::scope::Scope;
use crate::write::{ACTIONS_MAX, Executed, Existence, Existing, Intent, WriteRequest};

/// The result of importing an entry.
///
/// [`Db::import`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// It was created.
    Created,
    /// It existed with the same fields.
    Unchanged,
    /// It existed with other fields, which were replaced.
    Replaced,
}

impl Db {
    /// Imports entities, all or none, with the same checks as any change; each keeps its id, even
    /// where ids are generated, and its tenant. An entry that exists already with the same fields
    /// changes nothing, so an interrupted import can be repeated.
    ///
    /// An omitted field gets its default, except that `now` stays what it was.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Entry, Existing, Imported};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # let model = "[entity.task]\nfields.name = \"text\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let line = br#"{"entity": "task", "id": "7", "fields": {"name": "cook"}}"#;
    /// let entries = vec![Entry::from_json(line)?];
    /// assert_eq!(db.import(entries.clone(), Existing::Keep).await?, [Imported::Created]);
    /// // It can be repeated.
    /// assert_eq!(db.import(entries, Existing::Keep).await?, [Imported::Unchanged]);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Db::transact`]; [`Error::Exists`] if an entity exists with other fields and is kept.
    pub fn import(&self, entries: Vec<Entry>, existing: Existing) -> Answer<'_, Vec<Imported>> {
        Box::pin(async move { Importer { db: self, existing }.import(entries).await })
    }
}

/// Imports entries into a database.
struct Importer<'i> {
    db: &'i Db,
    existing: Existing,
}

impl Importer<'_> {
    async fn import(&self, mut entries: Vec<Entry>) -> Result<Vec<Imported>, Error> {
        let (rows, rows_max) = (entries.len(), ACTIONS_MAX);
        if rows > rows_max {
            return Err(Error::TooLarge { rows, rows_max });
        }
        let shared = &self.db.shared;
        loop {
            let (schema, again) = (shared.schema(), shared.keep_for_retry(&entries));
            let done = self.import_under(&schema, entries).await;
            match again {
                Some(again) if shared.is_superseded(&schema, &done).await? => entries = again,
                Some(_) | None => return done,
            }
        }
    }

    /// Imports entries by a schema.
    async fn import_under(
        &self,
        schema: &Schema,
        entries: Vec<Entry>,
    ) -> Result<Vec<Imported>, Error> {
        let shared = &self.db.shared;
        let intents = entries.into_iter().map(|entry| self.intent(schema, entry));
        let intents = intents.collect::<Result<Vec<Intent>, Error>>()?;
        // Entries are probably new if those before them were.
        let are_new = &shared.imports_are_new;
        let existence = match are_new.load(Ordering::Relaxed) {
            true => Existence::Unlikely,
            false => Existence::Unknown,
        };
        let request = WriteRequest { intents, existence, ..WriteRequest::default() };
        let executed = shared.executor(schema).execute(&request).await;
        let executed = executed.inspect_err(|_| are_new.store(false, Ordering::Relaxed))?;
        let imported: Vec<Imported> = executed.iter().map(Imported::from).collect();
        let created = imported.iter().all(|imported| *imported == Imported::Created);
        are_new.store(created, Ordering::Relaxed);
        Ok(imported)
    }

    fn intent(&self, schema: &Schema, entry: Entry) -> Result<Intent, Error> {
        let own = self.db.tenant.as_ref();
        let (kind, _) = self.db.scope(schema).entity(&entry.entity)?;
        if entry.tenant.is_some() && !schema.layouts.current.has_tenant(kind) {
            let what = format!("`{}` has no tenants", entry.entity);
            return Err(Error::Unknown { what, help: Some("omit `tenant`".to_owned()) });
        }
        if own.is_some() && entry.tenant.is_some() && own != entry.tenant.as_ref() {
            return Err(Error::Tenant { entity: entry.entity, problem: TenantProblem::Other });
        }
        let scope = Scope { schema, tenant: entry.tenant.as_ref().or(own), user: None };
        check_chosen_id(scope, kind, &entry.id)?;
        let key = scope.key(kind, entry.id)?;
        Ok(Intent::Import { key, document: entry.fields, existing: self.existing })
    }
}

impl From<&Executed> for Imported {
    fn from(executed: &Executed) -> Imported {
        match executed.version_before.as_deref() {
            None => Imported::Created,
            version if version == executed.version_after() => Imported::Unchanged,
            Some(_) => Imported::Replaced,
        }
    }
}
