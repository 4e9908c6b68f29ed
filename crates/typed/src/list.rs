//! Declared lists, read page by page.

use std::fmt;
use std::marker::PhantomData;

use futures_util::stream::Stream;
use keyloom::{Budget, FindTags, ListQuery, Strategy, Total};

use crate::entity::Entity;
use crate::stream::{Answer, Paged, items, pages};
use crate::values::{Facet, Tags, ValueCount, value_page};
use crate::{Cursor, Error, Filter, FromValue, OrderRange, Page};

/// A list that a model declares. Generated types implement it.
pub trait DeclaredList: Clone + fmt::Debug + Send + Sync + 'static {
    /// What is in the list.
    type Entity: Entity;
}

/// A list whose entities can be counted. Generated types implement it.
pub trait HasTotal: DeclaredList {}

/// A list of entities with tags. Generated types implement it.
pub trait HasTags: DeclaredList {}

/// A query of the list `L`: refine it with its methods, then read it.
#[derive(Clone, Debug)]
#[must_use]
pub struct List<L> {
    query: ListQuery,
    of: PhantomData<fn() -> L>,
}

impl<L: DeclaredList> List<L> {
    /// The typed form of a query of this list.
    pub fn new(query: ListQuery) -> List<L> {
        List { query, of: PhantomData }
    }

    /// The query without types, for example to change all of its entities.
    pub fn query(&self) -> &ListQuery {
        &self.query
    }

    /// Only entities within a range of the order.
    pub fn range(self, range: OrderRange<L>) -> List<L> {
        List::new(range.apply(self.query))
    }

    /// Only entities that pass a filter, besides all filters given before.
    pub fn filter(self, filter: Filter<L>) -> List<L> {
        self.map(|query| query.filter(filter.into_untyped()))
    }

    /// Reads in reverse order, from the end.
    pub fn backward(self) -> List<L> {
        self.map(ListQuery::backward)
    }

    /// The maximum number of entities on a page [default: 20].
    pub fn limit(self, limit: u32) -> List<L> {
        self.map(|query| query.limit(limit))
    }

    /// The maximum cost of a page. A page that is cut short has a cursor to continue with.
    pub fn budget(self, budget: Budget) -> List<L> {
        self.map(|query| query.budget(budget))
    }

    /// How to find what passes the filters; the result is the same.
    pub fn strategy(self, strategy: Strategy) -> List<L> {
        self.map(|query| query.strategy(strategy))
    }

    /// The next page, by the `next` of a page.
    pub fn after(self, cursor: Cursor<L>) -> List<L> {
        self.map(|query| query.after(cursor.as_str()))
    }

    /// The previous page, by the `previous` of a page.
    pub fn before(self, cursor: Cursor<L>) -> List<L> {
        self.map(|query| query.before(cursor.as_str()))
    }

    /// Reads a page.
    ///
    /// # Errors
    ///
    /// As [`ListQuery::read`].
    pub fn read(&self) -> impl Future<Output = Result<Page<L::Entity, L>, Error>> + Send {
        self.read_page()
    }

    /// Returns the page that the query begins with, and all that follow.
    pub fn pages(self) -> impl Stream<Item = Result<Page<L::Entity, L>, Error>> + Send {
        pages(self)
    }

    /// Returns the entities of all pages.
    pub fn items(self) -> impl Stream<Item = Result<L::Entity, Error>> + Send {
        items(self)
    }

    /// Returns the values of a facet, each with the number of entities; at most [`limit`](List::limit) of
    /// them, after a cursor if there is one.
    ///
    /// # Errors
    ///
    /// As [`ListQuery::facet_values`].
    pub async fn facet_values<T: FromValue>(
        &self,
        facet: Facet<L, T>,
        after: Option<Cursor<Facet<L, T>>>,
    ) -> Result<Page<ValueCount<T>, Facet<L, T>>, Error> {
        let query = self.resumed(after);
        let page = query.facet_values(facet.field()).await?;
        value_page(page, (L::Entity::NAME, facet.field()))
    }

    /// Counts the entities of the list that pass the filters, without reading them.
    ///
    /// # Errors
    ///
    /// If a range of the order is given; and as [`ListQuery::total`].
    pub async fn total(&self) -> Result<Total, Error>
    where
        L: HasTotal,
    {
        Ok(self.query.total().await?)
    }

    /// Returns tag keys, or the values of a key, each with the number of entities; at most
    /// [`limit`](List::limit) of them, after a cursor if there is one.
    ///
    /// # Errors
    ///
    /// As [`ListQuery::tags`].
    pub async fn tags(
        &self,
        find: &FindTags,
        after: Option<Cursor<Tags<L>>>,
    ) -> Result<Page<ValueCount<String>, Tags<L>>, Error>
    where
        L: HasTags,
    {
        let query = self.resumed(after);
        value_page(query.tags(find).await?, (L::Entity::NAME, "tags"))
    }

    fn resumed<Q>(&self, after: Option<Cursor<Q>>) -> ListQuery {
        match after {
            Some(cursor) => self.query.clone().after(cursor.as_str()),
            None => self.query.clone(),
        }
    }

    fn map(self, change: impl FnOnce(ListQuery) -> ListQuery) -> List<L> {
        List::new(change(self.query))
    }
}

impl<L: DeclaredList> Paged for List<L> {
    type Item = L::Entity;
    type Query = L;

    fn after(self, cursor: Cursor<L>) -> List<L> {
        List::after(self, cursor)
    }

    fn read_page(&self) -> Answer<'_, Page<L::Entity, L>> {
        Box::pin(async move {
            let page = self.query.read().await?;
            let entities = page.items.iter().map(L::Entity::from_record);
            Ok(Page {
                items: entities.collect::<Result<_, _>>()?,
                next: Cursor::some(page.next),
                previous: Cursor::some(page.previous),
                end: page.end,
                read: page.read,
            })
        })
    }
}
