//! Which numbers of a count to read, and what a page of them is.

use keyloom_model::{Amount, CountId, EntityId, FieldId};
use keyloom_value::Value;

use crate::ReadCost;

/// A request for numbers of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRequest {
    /// The kind of entity.
    pub entity: EntityId,
    /// The count.
    pub count: CountId,
    /// The tenant, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// One value for each field of the count's `by`.
    pub by: Vec<Value>,
    /// Only entities that have these values; the fields are in the count's `split`.
    pub only: Vec<(FieldId, Value)>,
    /// One number for each combination of values of these fields, which are in `split` too. Without
    /// any, there is one number.
    pub split: Vec<FieldId>,
    /// The maximum number of results: 1 to 1,000.
    pub limit: u32,
}

/// Numbers of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountPage {
    /// In order of their values; none is 0, unless it is the only one.
    pub numbers: Vec<CountNumber>,
    /// The cursor of the next page; absent if nothing follows.
    pub next: Option<String>,
    /// How much was read.
    pub read: ReadCost,
    /// Whether deletions take from these numbers and they took more than one read: then they are exact
    /// only if all reads were of one snapshot.
    pub is_torn: bool,
}

/// A number of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountNumber {
    /// A value of each field of the request's `split`.
    pub values: Vec<Value>,
    /// How many entities have them, with the sums of the count. Never negative.
    pub amount: Amount,
}
