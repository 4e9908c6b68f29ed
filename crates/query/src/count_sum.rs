//! A number of a count while rows are added to it.

use keyloom_model::attribute::SORT;
use keyloom_model::{Amount, FieldId};
use keyloom_value::{Item, Value};

/// A number of a count.
#[derive(Default)]
pub(crate) struct Sum {
    /// Of all fields that it is kept by, then the beginning of its window.
    pub(crate) values: Vec<Value>,
    pub(crate) amount: Amount,
    /// The least values of fields.
    pub(crate) min: Vec<(FieldId, Value)>,
    /// The greatest values of fields.
    pub(crate) max: Vec<(FieldId, Value)>,
}

/// The sort key of a row.
pub(crate) fn sort_of(row: &Item) -> Option<&[u8]> {
    row.get(SORT)?.as_b()
}
