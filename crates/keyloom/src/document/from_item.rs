//! Fields in stored form → values of people's own types, through serde.

mod access;
mod given;
mod name;
mod number;

use keyloom_model::Entity;
use keyloom_value::Item;
use serde::de::DeserializeOwned;

use super::error::DocumentError;
use given::Fields;

/// The value of a type that fields in stored form say; `id` and `version` may be among them.
///
/// A type gets what it asks for: a `time` is milliseconds since 1970 for an integer and RFC 3339
/// text otherwise, `bytes` are bytes (or a list of `u8`) for who asks so and base64 otherwise, a
/// `number` is an integer or a float if one can hold it exactly (a float, if its shortest decimal
/// is the number) and digits for a `String`. What serde buffers, `flatten` and untagged enums,
/// asks for nothing in particular.
///
/// # Errors
///
/// If the type cannot be made of the fields. The error names the field.
pub fn from_item<T: DeserializeOwned>(fields: &Item, entity: &Entity) -> Result<T, DocumentError> {
    T::deserialize(Fields { fields, entity })
}
