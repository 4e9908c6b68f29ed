//! Items, and the operations on them, as plain data.
//!
//! An [`Item`] is a map of attribute [`Name`]s to [`Value`]s of DynamoDB's ten types. The
//! other types are what a table does with items: decimal [`Number`]s of 38 digits, document
//! [`Path`]s, [`Condition`]s, [`Update`]s, [`Projection`]s, [`KeyCondition`]s, and [`KeyBytes`],
//! which encodes key values so that the order of bytes is the order of values.
//!
//! This crate does no I/O, parses no expression text, knows no tables, and depends only on a derive
//! macro for errors. Everything in it is deterministic.
//!
//! ```
//! use keyloom_value::{Condition, Item, Operand, Comparison, Path, Update, Value};
//!
//! let item = Item::from([("id", Value::from("t1")), ("done", Value::from(false))]);
//! let open = Condition::compare(Path::from("done"), Comparison::Equal, Value::from(false));
//! assert!(open.holds(Some(&item)));
//!
//! let finish = Update::new().set(Path::from("done"), Value::from(true));
//! let finished = finish.apply(&item).expect("the update is valid");
//! assert!(!open.holds(Some(&finished)));
//! ```

mod condition;
mod display;
mod item;
mod key_bytes;
mod key_condition;
mod number;
mod path;
mod projection;
mod score;
mod size;
mod update;
mod value;

pub use condition::{Comparison, Condition, Mentions, Operand};
pub use item::{Item, Name};
pub use key_bytes::{KeyBytes, KeyBytesError};
pub use key_condition::{KeyCondition, KeyTest};
pub use number::{Number, NumberError};
pub use path::{Path, PathClash, Step};
pub use projection::Projection;
pub use score::Score;
pub use update::{SetValue, Update, UpdateError, UpdateOperator};
pub use value::{Value, ValueType};
