//! Bytes as text: written in the standard alphabet, read as the model reads bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom::Value;
use keyloom_model::{FieldType, Limits};

/// Standard, with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Standard or for URLs, with or without padding.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    match FieldType::Bytes(Limits::NONE).to_stored(&Value::from(text)) {
        Value::B(bytes) => Some(bytes),
        _ => None,
    }
}
