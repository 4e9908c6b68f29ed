//! Bulk changes: all entities of a query are updated or deleted in the background, with progress.
//!
//! [`ListQuery::update_all`](crate::ListQuery::update_all) and
//! [`ListQuery::delete_all`](crate::ListQuery::delete_all) make one, [`Bulk::start`] starts it. It runs
//! in two phases, which any process can continue:
//!
//! 1. *collecting*: each entity of the query gets a *work row*, keyed by the operation and its id;
//! 2. *running*: each of them is changed as a single change would, if it is still in the query, in one
//!    transaction with the removal of its work row and the progress. So each is changed once, even if
//!    the process is killed, and no entity that its own changes move into the query is added.
//!
//! ```text
//! start.rs     Bulk -> record, marker        collect.rs   query -> work rows
//! record.rs    the rows of an operation      apply.rs     work rows -> changes
//! run.rs       one step of all operations    clear.rs     what a canceled one has left
//! ```

mod api;
mod apply;
mod clear;
mod collect;
mod operation;
mod record;
mod run;
mod start;
mod work_row;

pub use operation::{BulkFailure, BulkKind, BulkOperation, BulkState};
pub use start::{Bulk, StartedBulk};

pub(crate) use record::{BulkRecord, Marker};
pub(crate) use run::{Bulks, advance};
