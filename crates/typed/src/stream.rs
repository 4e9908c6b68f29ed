//! All pages of a query, and all of their items, as streams.

use std::future::Future;
use std::pin::Pin;

use futures_util::stream::{self, Stream, TryStreamExt, try_unfold};

use crate::{Cursor, Error, Page};

/// The result of a query that is being read.
pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A query that is read page by page.
pub(crate) trait Paged: Clone + Send + Sync + 'static {
    type Item: Send + 'static;
    type Query: 'static;

    fn after(self, cursor: Cursor<Self::Query>) -> Self;

    fn read_page(&self) -> Answer<'_, Page<Self::Item, Self::Query>>;
}

/// The page that a query begins with, and all that follow. It ends after an error.
pub(crate) fn pages<P: Paged>(
    query: P,
) -> impl Stream<Item = Result<Page<P::Item, P::Query>, Error>> + Send {
    try_unfold(Some(query), |query| async move {
        let Some(query) = query else { return Ok(None) };
        let page = query.read_page().await?;
        let rest = page.next.clone().map(|next| query.after(next));
        Ok(Some((page, rest)))
    })
}

/// The items of all pages.
pub(crate) fn items<P: Paged>(query: P) -> impl Stream<Item = Result<P::Item, Error>> + Send {
    pages(query).map_ok(|page| stream::iter(page.items.into_iter().map(Ok))).try_flatten()
}
