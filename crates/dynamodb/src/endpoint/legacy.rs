//! The parameters that expressions replaced, one file each, and what they share.
//!
//! They are read before the constraints are checked, checked where the service checks them, and
//! become the same conditions, key conditions, updates and projections that expressions become.

mod attribute_updates;
mod attributes_to_get;
mod comparison_operator;
mod conditional_operator;
mod conditions;
mod expected;
mod filter;
mod key_conditions;
mod mixing;
mod test;

pub(super) use attribute_updates::AttributeUpdates;
pub(super) use attributes_to_get::AttributesToGet;
pub(super) use expected::Expected;
pub(super) use filter::Filter;
pub(super) use key_conditions::{KeyConditions, QueryKey};
pub(super) use mixing::refuse_mixed;
