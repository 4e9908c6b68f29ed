//! What an id may be.

use keyloom_value::Path;

use super::error::{FieldError, FieldErrorKind, excerpt};

/// Bytes that an id may have.
const ID_BYTES_MAX: usize = 256;

/// Checks an id that a caller gives: 1 to 256 bytes, no control characters, not `.` or `..`.
///
/// Every other character is allowed, `/` and `#` and spaces too: keys are not made by joining
/// texts, and whoever puts an id into a URL encodes it. Only `.` and `..` would be lost there,
/// because clients take them out of paths even if they are encoded.
///
/// # Errors
///
/// An error about the field `id`.
pub fn check_id(id: &str) -> Result<(), FieldError> {
    fault(id).map_err(|kind| FieldError::new(Path::from("id"), kind))
}

/// The rule for ids, which is also that for references to them.
pub(super) fn fault(id: &str) -> Result<(), FieldErrorKind> {
    let is_id = (1..=ID_BYTES_MAX).contains(&id.len())
        && !id.chars().any(char::is_control)
        && id != "."
        && id != "..";
    if is_id { Ok(()) } else { Err(FieldErrorKind::NotAnId { found: excerpt(id) }) }
}
