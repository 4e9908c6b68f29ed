//! One entity: by its id, or by a unique value.

use std::sync::Arc;

use keyloom_model::{Entity, FieldId, OwnRow, UniqueId};
use keyloom_query::UniqueRequest;
use keyloom_value::Value;

use crate::Record;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::schema::Schema;
use crate::unknown::find_entity;

impl Db {
    /// Returns the entity with this id, if it exists.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let task = db.create("task", &json!({ "name": "cook" })).await?;
    /// let found = db.get("task", task.id()).await?;
    /// assert_eq!(found, Some(task));
    /// assert!(db.get("task", "unknown").await?.is_none());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the model has no such entity, or the store fails.
    pub fn get<'a>(&'a self, entity: &'a str, id: &'a str) -> Answer<'a, Option<Record>> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let scope = self.scope(&schema);
            let (entity, _) = scope.entity(entity)?;
            scope.check_readable(entity)?;
            let row = self.reader(&schema).get(&scope.key(entity, id)?).await?;
            self.visible(&schema, row).await
        })
    }

    /// Returns the entity with these values of a unique: its fields, and its scope if it has one.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let model = r#"
    ///     [entity.person]
    ///     fields.team  = "text"
    ///     fields.email = "text"
    ///     unique = [{ fields = ["email"], within = "team" }]
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// let ann = db.create("person", &json!({ "team": "red", "email": "ann@example.com" })).await?;
    /// let values = [("team", "red".into()), ("email", "ann@example.com".into())];
    /// assert_eq!(db.find("person", &values).await?, Some(ann));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If no unique has exactly these fields, a value is not one of its field, or the store fails.
    pub fn find<'a>(
        &'a self,
        entity: &'a str,
        values: &'a [(&'a str, Value)],
    ) -> Answer<'a, Option<Record>> {
        Box::pin(UniqueQuery { db: self, entity, values }.find())
    }

    /// Returns the record of a row, if the user may see it.
    pub(crate) async fn visible(
        &self,
        schema: &Arc<Schema>,
        row: Option<OwnRow>,
    ) -> Result<Option<Record>, Error> {
        let Some(row) = row else { return Ok(None) };
        let image = schema.layouts.upgraded(row);
        let is_visible = match self.rules(schema) {
            Some(rules) => rules.is_visible(&image).await?,
            None => true,
        };
        Ok(is_visible.then(|| Record::new(schema, image)))
    }

    /// Returns the schema if it is ready for a query, which another process may have made it.
    pub(crate) async fn schema_for(
        &self,
        is_ready: impl Fn(&Schema) -> Result<bool, Error>,
    ) -> Result<Option<Arc<Schema>>, Error> {
        if let Some(snapshot) = &self.snapshot {
            return Ok(is_ready(&snapshot.schema)?.then(|| snapshot.schema.clone()));
        }
        let schema = self.shared.schema();
        if is_ready(&schema)? {
            return Ok(Some(schema));
        }
        self.shared.refresh().await?;
        let schema = self.shared.schema();
        Ok(is_ready(&schema)?.then_some(schema))
    }
}

/// A query of a unique.
struct UniqueQuery<'q> {
    db: &'q Db,
    entity: &'q str,
    values: &'q [(&'q str, Value)],
}

impl UniqueQuery<'_> {
    async fn find(self) -> Result<Option<Record>, Error> {
        let schema = self.ready_schema().await?;
        let scope = self.db.scope(&schema);
        let (id, declared) = scope.entity(self.entity)?;
        let (unique, values) = find_unique(declared, self.values)?;
        scope.check_readable(id)?;
        let tenant = scope.tenant_of(id)?;
        let reader = self.db.reader(&schema);
        let request = UniqueRequest { entity: id, tenant, unique, values };
        let row = reader.find(&request).await?;
        self.db.visible(&schema, row).await
    }

    async fn ready_schema(&self) -> Result<Arc<Schema>, Error> {
        let schema = self.db.schema_for(|schema| {
            let (id, declared) = find_entity(schema, self.entity)?;
            Ok(schema.is_unique_ready(id, find_unique(declared, self.values)?.0))
        });
        schema.await?.ok_or_else(|| {
            let names: Vec<&str> = self.values.iter().map(|(name, _)| *name).collect();
            let what = format!("The unique `{}` of `{}`", names.join("`, `"), self.entity);
            Error::Building { what }
        })
    }
}

/// Finds the unique that has exactly these fields, with the values in its order.
fn find_unique(entity: &Entity, values: &[(&str, Value)]) -> Result<(UniqueId, Vec<Value>), Error> {
    for (id, unique) in entity.uniques() {
        let fields = unique.within.iter().chain(&unique.fields);
        let value = |field: &FieldId| {
            let field = entity.field(*field);
            let found = values.iter().find(|(name, _)| *name == field.name);
            found.map(|(_, value)| field.of.to_stored(value))
        };
        let found: Option<Vec<Value>> = fields.map(value).collect();
        if let Some(found) = found.filter(|found| found.len() == values.len()) {
            return Ok((id, found));
        }
    }
    let asked: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    Err(Error::Unknown {
        what: format!(
            "`{}` has no unique with exactly the fields `{}`",
            entity.name,
            asked.join("`, `")
        ),
        help: None,
    })
}
