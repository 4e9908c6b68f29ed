//! Documents: JSON text and user types ↔ items, exactly.
//!
//! Nothing here knows what a document may contain; the model checks that. Nothing is rounded: a number
//! that does not fit is an error.

mod error;
mod from_item;
mod read_json;
mod to_item;
mod write_json;

pub use error::DocumentError;
pub use from_item::from_item;
pub use read_json::json_to_item;
pub(crate) use read_json::own_json_to_item;
pub use to_item::to_item;
pub use write_json::item_to_json;

/// How deep lists and maps may be nested in a document, itself included.
const DEPTH_MAX: usize = 32;
