//! Fields in stored form → user types, through serde.

mod access;
mod given;
mod name;
mod number;

use keyloom_model::Entity;
use keyloom_value::Item;
use serde::de::DeserializeOwned;

use super::error::DocumentError;
use given::Fields;

/// Deserializes fields in stored form; `id` and `version` may be among them.
///
/// The requested type decides: a `time` is milliseconds since 1970 as an integer and RFC 3339 text
/// otherwise, `bytes` are bytes (or a list of `u8`) if requested and base64 otherwise, a `number` is an
/// integer or a float that represents it exactly (a float, if its shortest decimal is the number) and
/// digits as a `String`. What serde buffers, `flatten` and untagged enums, requests no particular type.
///
/// ```
/// use keyloom::{Item, Value, from_item};
///
/// #[derive(serde::Deserialize)]
/// struct Task {
///     due: String,
/// }
/// # let text = "[entity.task]\nfields.due = \"time\"";
/// # let model = keyloom_model::check(text).expect("it is valid");
/// # let entity = model.entity(model.find("task").expect("it is declared"));
/// let task: Task = from_item(&Item::from([("due", Value::from(0))]), entity)?;
/// assert_eq!(task.due, "1970-01-01T00:00:00Z");
/// # Ok::<(), keyloom::DocumentError>(())
/// ```
///
/// # Errors
///
/// If the fields do not fit the type. The error names the field.
pub fn from_item<T: DeserializeOwned>(fields: &Item, entity: &Entity) -> Result<T, DocumentError> {
    T::deserialize(Fields { fields, entity })
}
