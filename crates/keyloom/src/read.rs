//! Reading entities: by id, by a unique value, as an ordered list, with children.

mod bounds;
mod by;
mod children;
mod get;
mod list;
mod page;
mod stored_query;

pub use children::WithChildren;
pub use list::ListQuery;
pub use page::Page;

pub(crate) use bounds::ReadFor;
pub(crate) use by::{Given, by_values};
pub(crate) use page::records;
