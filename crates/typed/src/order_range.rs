//! Ranges of the order of one declared list.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use keyloom::{ListQuery, Value};

use crate::IntoValue;

/// A range of the order of the list `Q`: values of its leading fields, and bounds of the next one.
#[derive(Clone, Debug)]
pub struct OrderRange<Q> {
    equal: Vec<(&'static str, Value)>,
    field: &'static str,
    lower: Bound<Value>,
    upper: Bound<Value>,
    of: PhantomData<fn() -> Q>,
}

impl<Q> OrderRange<Q> {
    /// A range of one field.
    pub fn new<T: IntoValue + Clone>(field: &'static str, range: impl RangeBounds<T>) -> Self {
        let (lower, upper) = bounds(range);
        OrderRange { equal: vec![], field, lower, upper, of: PhantomData }
    }

    /// The value of a field before it.
    #[must_use]
    pub fn after(mut self, field: &'static str, value: impl IntoValue) -> Self {
        self.equal.push((field, value.into_value()));
        self
    }

    pub(crate) fn apply(self, mut query: ListQuery) -> ListQuery {
        for (field, value) in self.equal {
            query = query.equal(field, value);
        }
        query = match self.lower {
            Bound::Included(value) => query.at_least(self.field, value),
            Bound::Excluded(value) => query.more_than(self.field, value),
            Bound::Unbounded => query,
        };
        match self.upper {
            Bound::Included(value) => query.at_most(self.field, value),
            Bound::Excluded(value) => query.less_than(self.field, value),
            Bound::Unbounded => query,
        }
    }
}

/// The bounds of a range, as values.
pub(crate) fn bounds<T: IntoValue + Clone>(
    range: impl RangeBounds<T>,
) -> (Bound<Value>, Bound<Value>) {
    let bound = |bound: Bound<&T>| bound.map(|value| value.clone().into_value());
    (bound(range.start_bound()), bound(range.end_bound()))
}
