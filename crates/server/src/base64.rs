//! Bytes as text, by the model's own base64.

use keyloom::Value;
use keyloom_model::{FieldType, Limits};

/// Standard, with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let shown = FieldType::Bytes(Limits::NONE).show(&Value::B(bytes.to_vec()));
    shown.as_s().unwrap_or_default().to_owned()
}

/// Standard or for URLs, with or without padding.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    match FieldType::Bytes(Limits::NONE).take(&Value::from(text)) {
        Value::B(bytes) => Some(bytes),
        _ => None,
    }
}
