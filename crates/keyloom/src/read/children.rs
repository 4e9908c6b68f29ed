//! An entity with its children, in one read.

use keyloom_query::{Children, End, FamilyRequest};

use super::page::{Page, record, records};
use crate::Record;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::schema::Schema;

/// An entity with its children.
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
        let found = reader.family(&request, &self.db.shared.cursor_key).await?;
        let Some(found) = found else { return Ok(None) };
        Ok(Some(WithChildren {
            parent: record(&schema, found.parent),
            children: records(&schema, found.children).await,
            next: found.next,
        }))
    }

    async fn page(self, after: Option<&str>) -> Result<Option<Page>, Error> {
        let schema = self.db.shared.schema();
        let (request, reader) = (self.request(&schema)?, self.db.reader(&schema));
        let page = reader.children(&request, &self.db.shared.cursor_key, after).await?;
        let Some(page) = page else { return Ok(None) };
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
        let parent = scope.key(scope.entity(self.entity)?.0, self.id)?;
        let children = match self.children {
            None => Children::All,
            Some(name) => Children::Of(scope.entity(name)?.0),
        };
        Ok(FamilyRequest { parent, children, limit: self.limit })
    }
}
