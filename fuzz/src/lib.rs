//! One function per fuzz target. Each takes arbitrary bytes and panics if a property of its decoder or
//! parser does not hold: decoded input encodes and decodes to the same value.
//!
//! Private modules are included by path, so that no crate exports more names for fuzzing.

mod choice;
mod disk;
mod documents;
mod expressions;
mod models;
mod requests;
mod signatures;
mod statements;
mod values;
mod wire;

pub use disk::disk;
pub use documents::{import, json};
pub use expressions::expressions;
pub use models::{model, times};
pub use requests::{changes, cursors, requests};
pub use signatures::signatures;
pub use statements::statements;
pub use values::{key_bytes, numbers};
pub use wire::wire;

// Names that the included files of `disk` expect. Two modules are included for their private parts.
#[path = "../../crates/store/src/column.rs"]
#[allow(dead_code, reason = "only parts of it are used here")]
mod column;
#[path = "../../crates/store/src/members.rs"]
#[allow(dead_code, reason = "only parts of it are used here")]
mod members;

use column::ColumnValue;
use keyloom_store::{
    Cause, ColumnSpec, Direction, Feed, IndexName, IndexProjection, IndexScope, IndexSpec,
    KeyAttribute, KeySchema, KeyType, Membership, TableName, TableSpec, Time,
};
use members::Members;
