//! The children of an entity, of one kind.

use std::marker::PhantomData;

use keyloom::Db;

use crate::{Cursor, Entity, Error, Id, Page};

/// The maximum number of children on a page, unless a query says another.
const LIMIT: u32 = 20;

/// A query of the children of the kind `C` of one `P`.
#[derive(Debug)]
#[must_use]
pub struct Children<P, C> {
    db: Db,
    parent: Id<P>,
    limit: u32,
    after: Option<Cursor<Children<P, C>>>,
    of: PhantomData<fn() -> C>,
}

/// An entity with its first children of one kind.
#[derive(Clone, Debug)]
pub struct WithChildren<P, C> {
    /// The parent.
    pub parent: P,
    /// Its first children, ordered by id.
    pub children: Vec<C>,
    /// The cursor of the next children; absent if there are no more.
    pub next: Option<Cursor<Children<P, C>>>,
}

impl<P: Entity, C: Entity> Children<P, C> {
    /// The children of one entity.
    pub fn new(db: &Db, parent: &Id<P>) -> Children<P, C> {
        let (db, parent) = (db.clone(), parent.clone());
        Children { db, parent, limit: LIMIT, after: None, of: PhantomData }
    }

    /// The maximum number of children on a page [default: 20].
    pub fn limit(self, limit: u32) -> Children<P, C> {
        Children { limit, ..self }
    }

    /// The next page, by the `next` of a page.
    pub fn after(self, cursor: Cursor<Children<P, C>>) -> Children<P, C> {
        Children { after: Some(cursor), ..self }
    }

    /// Reads a page, ordered by id; none if the parent does not exist.
    ///
    /// # Errors
    ///
    /// As [`Db::children`].
    pub async fn read(&self) -> Result<Option<Page<C, Children<P, C>>>, Error> {
        let after = self.after.as_ref().map(Cursor::as_str);
        let (parent, limit) = (self.parent.as_str(), self.limit);
        let page = self.db.children(P::NAME, parent, Some(C::NAME), (limit, after)).await?;
        let Some(page) = page else { return Ok(None) };
        let items = page.items.iter().map(C::from_record).collect::<Result<_, _>>()?;
        Ok(Some(Page::forward(items, page.next, page.read)))
    }

    /// Reads the parent with its first children, in one read; none if it does not exist.
    ///
    /// # Errors
    ///
    /// As [`Db::with_children`].
    pub async fn with_parent(&self) -> Result<Option<WithChildren<P, C>>, Error> {
        let (parent, limit) = (self.parent.as_str(), self.limit);
        let found = self.db.with_children(P::NAME, parent, Some(C::NAME), limit).await?;
        let Some(found) = found else { return Ok(None) };
        let children = found.children.iter().map(C::from_record);
        Ok(Some(WithChildren {
            parent: P::from_record(&found.parent)?,
            children: children.collect::<Result<_, _>>()?,
            next: Cursor::some(found.next),
        }))
    }
}
