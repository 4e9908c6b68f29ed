//! Declared counts: one number, or one for each value or window of time.

use std::fmt;
use std::marker::PhantomData;

use futures_util::stream::Stream;
use keyloom::{CountQuery, Item, Number, Value};

use crate::stream::{Answer, Paged, items, pages};
use crate::{Cursor, Error, FromValue, IntoValue, Page, Unfit};

/// A count that a model declares. Generated types implement it.
pub trait DeclaredCount: Clone + fmt::Debug + Send + Sync + 'static {
    /// A number of the count, with the values that it is of, and its sums.
    type Counted: Send + 'static;

    /// Reads a number of the count.
    ///
    /// # Errors
    ///
    /// If a value does not fit.
    fn counted(counted: &keyloom::Counted) -> Result<Self::Counted, Unfit>;
}

/// A count that is also kept by windows of time. Generated types implement it.
pub trait HasWindows: DeclaredCount {}

/// A value of a `split` field of the count `C`.
#[derive(Clone, Debug)]
pub struct Only<C> {
    field: &'static str,
    value: Value,
    of: PhantomData<fn() -> C>,
}

impl<C> Only<C> {
    /// A value of this field.
    pub fn new(field: &'static str, value: impl IntoValue) -> Only<C> {
        Only { field, value: value.into_value(), of: PhantomData }
    }
}

/// A `split` field of the count `C`.
#[derive(Clone, Copy, Debug)]
pub struct Split<C> {
    field: &'static str,
    of: PhantomData<fn() -> C>,
}

impl<C> Split<C> {
    /// This field.
    pub const fn new(field: &'static str) -> Split<C> {
        Split { field, of: PhantomData }
    }
}

/// A query of the count `C`: refine it with its methods, then read it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Count<C> {
    query: CountQuery,
    of: PhantomData<fn() -> C>,
}

impl<C: DeclaredCount> Count<C> {
    /// The typed form of a query of this count.
    pub fn new(query: CountQuery) -> Count<C> {
        Count { query, of: PhantomData }
    }

    /// Only entities with this value.
    pub fn only(self, only: Only<C>) -> Count<C> {
        Count::new(self.query.only(only.field, only.value))
    }

    /// One number for each value of a field; for several fields, for each combination.
    pub fn split(self, split: Split<C>) -> Count<C> {
        Count::new(self.query.split(split.field))
    }

    /// One number for each window of time, as [`CountQuery::windows`].
    pub fn windows(self, range: &str) -> Count<C>
    where
        C: HasWindows,
    {
        Count::new(self.query.windows(range))
    }

    /// Also windows without entities. The range must have both ends.
    pub fn filled(self) -> Count<C>
    where
        C: HasWindows,
    {
        Count::new(self.query.filled())
    }

    /// The maximum number of counts on a page [default: 100].
    pub fn limit(self, limit: u32) -> Count<C> {
        Count::new(self.query.limit(limit))
    }

    /// The next page, by the `next` of a page.
    pub fn after(self, cursor: Cursor<C>) -> Count<C> {
        Count::new(self.query.after(cursor.as_str()))
    }

    /// Returns the number of entities, without split and windows.
    ///
    /// # Errors
    ///
    /// As [`CountQuery::read`].
    pub async fn total(&self) -> Result<u64, Error> {
        Ok(self.query.total().await?)
    }

    /// Returns the number of entities with the sums of the count, without split and windows.
    ///
    /// # Errors
    ///
    /// As [`CountQuery::read`].
    pub async fn whole(&self) -> Result<C::Counted, Error> {
        Ok(C::counted(&self.query.whole().await?)?)
    }

    /// Reads a page of the counts that are not 0; without a split, the total.
    ///
    /// # Errors
    ///
    /// As [`CountQuery::read`].
    pub fn read(&self) -> impl Future<Output = Result<Page<C::Counted, C>, Error>> + Send {
        self.read_page()
    }

    /// Returns the page that the query begins with, and all that follow.
    pub fn pages(self) -> impl Stream<Item = Result<Page<C::Counted, C>, Error>> + Send {
        pages(self)
    }

    /// Returns the counts of all pages.
    pub fn items(self) -> impl Stream<Item = Result<C::Counted, Error>> + Send {
        items(self)
    }
}

impl<C: DeclaredCount> Paged for Count<C> {
    type Item = C::Counted;
    type Query = C;

    fn after(self, cursor: Cursor<C>) -> Count<C> {
        Count::after(self, cursor)
    }

    fn read_page(&self) -> Answer<'_, Page<C::Counted, C>> {
        Box::pin(async move {
            let page = self.query.read().await?;
            let items = page.items.iter().map(C::counted).collect::<Result<_, _>>()?;
            Ok(Page::forward(items, page.next, page.read))
        })
    }
}

/// Reads the values of a number of a count; generated code uses it.
#[derive(Clone, Copy, Debug)]
pub struct CountedFields<'c> {
    entity: &'static str,
    counted: &'c keyloom::Counted,
}

impl<'c> CountedFields<'c> {
    /// The values of a number of a count of an entity.
    pub fn of(entity: &'static str, counted: &'c keyloom::Counted) -> CountedFields<'c> {
        CountedFields { entity, counted }
    }

    /// The value of a `split` field; none if the query does not split by it.
    ///
    /// # Errors
    ///
    /// If the value does not fit; as all of these.
    pub fn value<T: FromValue>(self, field: &str) -> Result<Option<T>, Unfit> {
        self.read(&self.counted.values, field)
    }

    /// The sum of a field.
    ///
    /// # Errors
    ///
    /// If the value does not fit.
    pub fn sum(self, field: &str) -> Result<Number, Unfit> {
        Ok(self.read(&self.counted.sums, field)?.unwrap_or_else(|| Number::from(0)))
    }

    /// The average of a field; none if no entity has a value.
    ///
    /// # Errors
    ///
    /// If the value does not fit.
    pub fn average<T: FromValue>(self, field: &str) -> Result<Option<T>, Unfit> {
        self.read(&self.counted.averages, field)
    }

    /// The least value of a field; none if no entity has a value.
    ///
    /// # Errors
    ///
    /// If the value does not fit.
    pub fn min<T: FromValue>(self, field: &str) -> Result<Option<T>, Unfit> {
        self.read(&self.counted.min, field)
    }

    /// The greatest value of a field; none if no entity has a value.
    ///
    /// # Errors
    ///
    /// If the value does not fit.
    pub fn max<T: FromValue>(self, field: &str) -> Result<Option<T>, Unfit> {
        self.read(&self.counted.max, field)
    }

    fn read<T: FromValue>(self, values: &Item, field: &str) -> Result<Option<T>, Unfit> {
        let unfit = || Unfit {
            entity: self.entity.to_owned(),
            id: None,
            field: field.to_owned(),
            expected: T::EXPECTED,
        };
        let value = values.get(field);
        value.map(|value| T::from_value(value).ok_or_else(unfit)).transpose()
    }
}
