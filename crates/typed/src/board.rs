//! Declared leaderboards: a page from the top, one item, or the items around it.

use std::fmt;
use std::marker::PhantomData;

use futures_util::stream::Stream;
use keyloom::{BoardQuery, Number, Value};

use crate::stream::{Answer, Paged, items, pages};
use crate::{Cursor, Entity, Error, FromValue, Id, IntoValue, Page, Unfit};

/// A leaderboard that a model declares. Generated types implement it.
pub trait DeclaredBoard: Clone + fmt::Debug + Send + Sync + 'static {
    /// What is ranked: the values of a field, or the ids of entities.
    type Ranked: FromValue + IntoValue + Clone + Send + 'static;

    /// Its name in the model.
    const NAME: &'static str;
}

/// A leaderboard whose items are entities. Generated types implement it.
pub trait RanksEntities: DeclaredBoard<Ranked = Id<Self::Entity>> {
    /// The kind of the entities.
    type Entity: Entity;
}

/// An item of a leaderboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked<T> {
    /// The number of better scores plus one.
    pub rank: u64,
    /// The score.
    pub score: Number,
    /// What is ranked.
    pub of: T,
    /// Whether scores have changed since ranks were settled: ranks follow in seconds.
    pub is_settling: bool,
}

/// A query of the leaderboard `B`: refine it with its methods, then read it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Board<B> {
    query: BoardQuery,
    of: PhantomData<fn() -> B>,
}

impl<B: DeclaredBoard> Board<B> {
    /// The typed form of a query of this leaderboard.
    pub fn new(query: BoardQuery) -> Board<B> {
        Board { query, of: PhantomData }
    }

    /// The maximum number of items [default: 10]; around an item, before it and after it each.
    pub fn limit(self, limit: u32) -> Board<B> {
        Board::new(self.query.limit(limit))
    }

    /// The next page, by the `next` of a page.
    pub fn after(self, cursor: Cursor<B>) -> Board<B> {
        Board::new(self.query.after(cursor.as_str()))
    }

    /// Reads a page, the greatest score first.
    ///
    /// # Errors
    ///
    /// As [`BoardQuery::read`].
    pub fn read(&self) -> impl Future<Output = Result<Page<Ranked<B::Ranked>, B>, Error>> + Send {
        self.read_page()
    }

    /// Returns the page that the query begins with, and all that follow.
    pub fn pages(self) -> impl Stream<Item = Result<Page<Ranked<B::Ranked>, B>, Error>> + Send {
        pages(self)
    }

    /// Returns the items of all pages.
    pub fn items(self) -> impl Stream<Item = Result<Ranked<B::Ranked>, Error>> + Send {
        items(self)
    }

    /// Returns one item; none if it is not on the leaderboard.
    ///
    /// # Errors
    ///
    /// As [`BoardQuery::rank`].
    pub async fn rank(&self, of: &B::Ranked) -> Result<Option<Ranked<B::Ranked>>, Error> {
        let ranked = self.query.rank(of.clone().into_value()).await?;
        Ok(ranked.map(typed::<B>).transpose()?)
    }

    /// Returns an item with those before and after it; none if it is not on the leaderboard.
    ///
    /// # Errors
    ///
    /// As [`BoardQuery::around`].
    pub async fn around(&self, of: &B::Ranked) -> Result<Option<Vec<Ranked<B::Ranked>>>, Error> {
        let Some(ranked) = self.query.around(of.clone().into_value()).await? else {
            return Ok(None);
        };
        Ok(Some(ranked.into_iter().map(typed::<B>).collect::<Result<_, _>>()?))
    }

    /// Returns the entity of each item that was read before; none if it is not visible.
    ///
    /// # Errors
    ///
    /// As [`BoardQuery::entities`].
    pub async fn entities(
        &self,
        items: &[Ranked<B::Ranked>],
    ) -> Result<Vec<Option<B::Entity>>, Error>
    where
        B: RanksEntities,
    {
        let items: Vec<keyloom::Ranked> = items.iter().map(untyped).collect();
        let trees = self.query.entities(&items, "").await?;
        let entity = |tree: keyloom::Tree| B::Entity::from_record(&tree.record);
        let entities = trees.into_iter().map(|tree| tree.map(entity).transpose());
        Ok(entities.collect::<Result<_, _>>()?)
    }
}

impl<B: DeclaredBoard> Paged for Board<B> {
    type Item = Ranked<B::Ranked>;
    type Query = B;

    fn after(self, cursor: Cursor<B>) -> Board<B> {
        Board::after(self, cursor)
    }

    fn read_page(&self) -> Answer<'_, Page<Ranked<B::Ranked>, B>> {
        Box::pin(async move {
            let page = self.query.read().await?;
            let items = page.items.into_iter().map(typed::<B>).collect::<Result<_, _>>()?;
            Ok(Page::forward(items, page.next, page.read))
        })
    }
}

fn typed<B: DeclaredBoard>(ranked: keyloom::Ranked) -> Result<Ranked<B::Ranked>, Unfit> {
    let keyloom::Ranked { rank, score, of, is_settling } = ranked;
    let of = B::Ranked::from_value(&of).ok_or_else(|| Unfit {
        entity: B::NAME.to_owned(),
        id: None,
        field: "of".to_owned(),
        expected: B::Ranked::EXPECTED,
    })?;
    Ok(Ranked { rank, score, of, is_settling })
}

fn untyped<T: IntoValue + Clone>(ranked: &Ranked<T>) -> keyloom::Ranked {
    let Ranked { rank, score, of, is_settling } = ranked.clone();
    let of: Value = of.into_value();
    keyloom::Ranked { rank, score, of, is_settling }
}
