//! Errors of tools: what is wrong and what to do, for an assistant to read.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value as Json, json};

/// Why a tool returned no result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolError {
    /// A code whose meaning never changes: one of the server, or one of a tool.
    code: String,
    /// What is wrong.
    message: String,
    /// What to do.
    hint: Option<String>,
    /// Further members.
    details: Option<Json>,
}

impl ToolError {
    pub(crate) fn new(code: impl Into<String>, message: impl Into<String>) -> ToolError {
        ToolError { code: code.into(), message: message.into(), hint: None, details: None }
    }

    /// An argument is wrong.
    pub(crate) fn argument(message: impl Into<String>) -> ToolError {
        ToolError::new("bad-argument", message)
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> ToolError {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_details(mut self, details: Json) -> ToolError {
        self.details = Some(details);
        self
    }

    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.code == code
    }

    pub(crate) fn into_result(self) -> CallToolResult {
        let ToolError { code, message, hint, details } = self;
        let mut text = message.clone();
        if let Some(hint) = &hint {
            text.push_str(&format!("\n{hint}"));
        }
        let mut error = json!({ "code": code, "message": message });
        if let Some(hint) = hint {
            error["hint"] = json!(hint);
        }
        if let Some(details) = details {
            text.push_str(&format!("\n{details}"));
            error["details"] = details;
        }
        let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
        result.structured_content = Some(json!({ "error": error }));
        result
    }
}
