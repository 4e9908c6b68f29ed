//! Access rules of the model, as they apply to one user: what a query is limited to, which entities are
//! visible, and which changes are allowed.

mod query_limit;
mod rules;
mod user;

pub use user::User;

pub(crate) use query_limit::Queried;
pub(crate) use rules::{Deed, Rules, check_children, check_readable};
