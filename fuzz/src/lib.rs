//! One function for each fuzz target. Each takes any bytes, and panics if a law of the decoder or
//! parser that it is about does not hold: what was read is written and read again as the same.
//!
//! What is private is included by its path, so that no crate has a name more for this.

mod choice;
mod disk;
mod documents;
mod expressions;
mod models;
mod requests;
mod signatures;
mod values;
mod wire;

pub use disk::disk;
pub use documents::{import, json};
pub use expressions::expressions;
pub use models::{model, times};
pub use requests::{changes, cursors, requests};
pub use signatures::signatures;
pub use values::{key_bytes, numbers};
pub use wire::wire;

// What the files in `disk` know by these names. Of two types they know more than others do.
#[path = "../../crates/store/src/column.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod column;
#[path = "../../crates/store/src/members.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod members;

use column::ColumnValue;
use keyloom_store::{
    Cause, ColumnSpec, Direction, Feed, IndexName, IndexProjection, IndexScope, IndexSpec,
    KeyAttribute, KeySchema, KeyType, Membership, TableName, TableSpec, Time,
};
use members::Members;
