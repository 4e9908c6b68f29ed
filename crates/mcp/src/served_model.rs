//! The model that the server serves, as text and checked.

use keyloom_model::{Model, check};
use serde_json::Value as Json;

use crate::tool_error::ToolError;

/// The model that the server serves.
#[derive(Debug)]
pub(crate) struct ServedModel {
    /// As its author wrote it.
    pub(crate) text: String,
    pub(crate) model: Model,
}

impl ServedModel {
    /// Reads the response of `GET /model`.
    pub(crate) fn read(response: &Json) -> Result<ServedModel, ToolError> {
        let unusable = |message: &str| {
            ToolError::new("bad-response", message)
                .with_hint("Use a `keyloom mcp` of the same version as the server.")
        };
        let text = response["text"].as_str();
        let text = text.ok_or_else(|| unusable("The server returns no model."))?.to_owned();
        let model = check(&text).map_err(|_| unusable("The served model cannot be read."))?;
        Ok(ServedModel { text, model })
    }
}
