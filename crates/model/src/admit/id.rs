//! The rule for ids.

use keyloom_value::Path;

use super::error::{FieldError, FieldErrorKind, excerpt};

/// Maximum length of an id in bytes.
const ID_BYTES_MAX: usize = 256;

/// Checks an id that a caller chose: 1 to 256 bytes, no control characters, not `.` or `..`.
///
/// Every other character is allowed, including `/`, `#` and spaces: keys are not made by joining
/// texts, and ids are encoded in URLs. `.` and `..` would be lost there, because clients remove
/// them from paths even if they are encoded.
///
/// # Errors
///
/// An error about the field `id`.
pub fn check_id(id: &str) -> Result<(), FieldError> {
    check(id).map_err(|kind| FieldError::new(Path::from("id"), kind))
}

/// The rule for ids, and for references to them.
pub(super) fn check(id: &str) -> Result<(), FieldErrorKind> {
    let is_id = (1..=ID_BYTES_MAX).contains(&id.len())
        && !id.chars().any(char::is_control)
        && id != "."
        && id != "..";
    if is_id { Ok(()) } else { Err(FieldErrorKind::NotAnId { found: excerpt(id) }) }
}
