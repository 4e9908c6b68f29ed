//! An entity with its children, in one read.

use keyloom_model::EntityId;
use keyloom_query::{Children, End, FamilyRequest};

use super::page::{Page, records};
use crate::Record;
use crate::access::{Deed, check_children};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::schema::Schema;

/// An entity with its children.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::Db;
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.project]
///     fields.name = "text"
///     [entity.task]
///     parent = "project"
///     fields.name = "text"
/// "#;
/// let db = Db::open(model, store).await?;
/// let home = db.create("project", &json!({ "name": "home" })).await?;
/// db.create("task", &json!({ "project": home.id(), "name": "paint" })).await?;
/// let found = db.with_children("project", home.id(), Some("task"), 20).await?;
/// assert_eq!(found.map(|found| found.children.len()), Some(1));
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
pub struct WithChildren {
    /// The parent.
    pub parent: Record,
    /// Its first children, ordered by id.
    pub children: Vec<Record>,
    /// The cursor of the next children; absent if there are no more.
    pub next: Option<String>,
}

impl Db {
    /// Returns an entity and its first children, in one read: those of one kind, or of all kinds.
    ///
    /// [`WithChildren`] has an example.
    ///
    /// # Errors
    ///
    /// If the model has no such entity or children, or the store fails.
    pub fn with_children<'a>(
        &'a self,
        entity: &'a str,
        id: &'a str,
        children: Option<&'a str>,
        limit: u32,
    ) -> Answer<'a, Option<WithChildren>> {
        Box::pin(ChildrenQuery { db: self, entity, id, children, limit }.with_parent())
    }

    /// Returns more children of an entity, after those of [`Db::with_children`]; none if the entity
    /// does not exist.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.project]\n[entity.task]\nparent = \"project\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let home = db.create("project", &json!({})).await?;
    /// for _ in 0..3 {
    ///     db.create("task", &json!({ "project": home.id() })).await?;
    /// }
    /// let first = db.with_children("project", home.id(), Some("task"), 2).await?;
    /// let next = first.and_then(|first| first.next).expect("there is more");
    /// let rest = db.children("project", home.id(), Some("task"), (2, Some(&next))).await?;
    /// assert_eq!(rest.map(|page| page.items.len()), Some(1));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Db::with_children`]; and if the cursor belongs to another query.
    pub fn children<'a>(
        &'a self,
        entity: &'a str,
        id: &'a str,
        children: Option<&'a str>,
        (limit, after): (u32, Option<&'a str>),
    ) -> Answer<'a, Option<Page>> {
        Box::pin(ChildrenQuery { db: self, entity, id, children, limit }.page(after))
    }
}

/// A query of the children of one entity.
struct ChildrenQuery<'q> {
    db: &'q Db,
    entity: &'q str,
    id: &'q str,
    /// The kind of the children; all kinds without it.
    children: Option<&'q str>,
    limit: u32,
}

impl ChildrenQuery<'_> {
    async fn with_parent(self) -> Result<Option<WithChildren>, Error> {
        let schema = self.db.shared.schema();
        let (request, reader) = (self.request(&schema)?, self.db.reader(&schema));
        let found = reader.family(&request, &self.db.cursors()).await?;
        let Some(found) = found else { return Ok(None) };
        let parent = self.db.visible(&schema, Some(found.parent)).await?;
        let Some(parent) = parent else { return Ok(None) };
        Ok(Some(WithChildren {
            parent,
            children: records(&schema, found.children).await,
            next: found.next,
        }))
    }

    async fn page(self, after: Option<&str>) -> Result<Option<Page>, Error> {
        let schema = self.db.shared.schema();
        let (request, reader) = (self.request(&schema)?, self.db.reader(&schema));
        let page = reader.children(&request, &self.db.cursors(), after).await?;
        let Some(page) = page else { return Ok(None) };
        if let Some(rules) = self.db.rules(&schema)
            && !rules.admits_key(Deed::Read, &request.parent).await?
        {
            return Ok(None);
        }
        Ok(Some(Page {
            items: records(&schema, page.children).await,
            end: if page.next.is_some() { End::Limit } else { End::Exhausted },
            next: page.next,
            previous: None,
            read: page.read,
        }))
    }

    fn request(&self, schema: &Schema) -> Result<FamilyRequest, Error> {
        let scope = self.db.scope(schema);
        let (entity, _) = scope.entity(self.entity)?;
        scope.check_readable(entity)?;
        let (parent, model) = (scope.key(entity, self.id)?, schema.model());
        let kinds = model.children(entity).into_iter().map(|(_, kind)| kind);
        let (children, kinds): (_, Vec<EntityId>) = match self.children {
            None => (Children::All, kinds.collect()),
            Some(name) => (Children::Of(scope.entity(name)?.0), vec![scope.entity(name)?.0]),
        };
        for kind in kinds {
            check_children(self.db.user.as_deref(), model.entity(kind))?;
        }
        Ok(FamilyRequest { parent, children, limit: self.limit })
    }
}
