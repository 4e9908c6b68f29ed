//! Values of facets and tags, with the number of entities that have them.

use std::marker::PhantomData;

use keyloom::ValuePage;

use crate::{Error, FromValue, Page, Unfit};

/// A facet of the list `L` with values of the type `T`.
#[derive(Clone, Copy, Debug)]
pub struct Facet<L, T> {
    field: &'static str,
    of: PhantomData<fn() -> (L, T)>,
}

impl<L, T> Facet<L, T> {
    /// The facet of this field.
    pub const fn new(field: &'static str) -> Facet<L, T> {
        Facet { field, of: PhantomData }
    }

    pub(crate) fn field(&self) -> &'static str {
        self.field
    }
}

/// The tags of entities in the list `L`.
#[derive(Clone, Copy, Debug)]
pub struct Tags<L>(PhantomData<fn() -> L>);

/// A value, and how many entities have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCount<T> {
    /// The value, or the key of a tag.
    pub value: T,
    /// How many entities have it: at least one.
    pub count: u64,
}

/// The typed form of a page of values of a field.
pub(crate) fn value_page<T: FromValue, Q>(
    page: ValuePage,
    (entity, field): (&str, &str),
) -> Result<Page<ValueCount<T>, Q>, Error> {
    let typed = |counted: keyloom::ValueCount| {
        let value = T::from_value(&counted.value).ok_or_else(|| Unfit {
            entity: entity.to_owned(),
            id: None,
            field: field.to_owned(),
            expected: T::EXPECTED,
        })?;
        Ok(ValueCount { value, count: counted.count })
    };
    let items = page.counts.into_iter().map(typed).collect::<Result<_, Unfit>>()?;
    Ok(Page::forward(items, page.next, page.read))
}
