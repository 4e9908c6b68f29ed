//! Filters of one declared list.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use keyloom::Filter as Untyped;
use keyloom::Value;

use crate::IntoValue;
use crate::order_range::bounds;

/// A filter of the list `Q`. Generated lists have a function for each filter that they can have.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter<Q> {
    filter: Untyped,
    of: PhantomData<fn() -> Q>,
}

impl<Q> Filter<Q> {
    /// A filter from one that is not checked by the compiler.
    pub fn new(filter: Untyped) -> Filter<Q> {
        Filter { filter, of: PhantomData }
    }

    /// Entities with a value of a facet.
    pub fn facet(field: &str, value: impl IntoValue) -> Filter<Q> {
        Filter::new(Untyped::facet(field, value.into_value()))
    }

    /// Entities with a number or time within a range.
    pub fn range<T: IntoValue + Clone>(field: &str, range: impl RangeBounds<T>) -> Filter<Q> {
        Filter::new(Untyped::range::<Value>(field, bounds(range)))
    }

    /// Entities that pass all of these.
    pub fn all(filters: impl IntoIterator<Item = Filter<Q>>) -> Filter<Q> {
        Filter::new(Untyped::all(filters.into_iter().map(Filter::into_untyped)))
    }

    /// Entities that pass at least one of these.
    pub fn any(filters: impl IntoIterator<Item = Filter<Q>>) -> Filter<Q> {
        Filter::new(Untyped::any(filters.into_iter().map(Filter::into_untyped)))
    }

    /// Entities that do not pass this.
    #[expect(clippy::should_implement_trait, reason = "it reads as the words do, after a filter")]
    #[must_use]
    pub fn not(self) -> Filter<Q> {
        Filter::new(self.filter.not())
    }

    pub(crate) fn into_untyped(self) -> Untyped {
        self.filter
    }
}
