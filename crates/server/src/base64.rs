//! Base64: encoded with the standard alphabet, decoded as the model decodes bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom::Value;
use keyloom_model::{FieldType, Limits};

/// Encodes with the standard alphabet and padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes the standard or the URL-safe alphabet, with or without padding.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    match FieldType::Bytes(Limits::NONE).to_stored(&Value::from(text)) {
        Value::B(bytes) => Some(bytes),
        _ => None,
    }
}
