//! `check_model`: the errors of a model, or a summary of it.

use keyloom_model::{Layout, Model, ModelError, check};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::describe_model::layout;
use crate::limits::{LISTED_MAX, MODEL_BYTES_MAX};
use crate::session::Session;
use crate::tool::ReadOnlyTool;
use crate::tool_error::ToolError;

pub(crate) struct CheckModel;

/// A model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelArguments {
    /// The text of the whole model file (TOML).
    model: String,
}

/// The errors of a model, or a summary of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckOutput {
    /// Whether the model has no errors.
    valid: bool,
    /// Its errors; at most 100.
    errors: Vec<ErrorOutput>,
    /// Its entities, if it is valid.
    entities: Vec<EntitySummary>,
    /// How many indexes its table needs, if it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexes: Option<usize>,
}

/// An error of a model.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorOutput {
    /// The line, from 1.
    line: usize,
    /// The column, from 1.
    column: usize,
    /// The code, as the guide of the model language lists it.
    code: String,
    /// What is wrong.
    reason: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

/// An entity of a valid model.
#[derive(Debug, Serialize, JsonSchema)]
struct EntitySummary {
    name: String,
    fields: usize,
    lists: usize,
    uniques: usize,
    counts: usize,
    boards: usize,
    /// The most rows that one write of it touches.
    rows_per_write_max: usize,
}

impl ReadOnlyTool for CheckModel {
    const NAME: &'static str = "check_model";
    const TITLE: &'static str = "Check a model";
    const ABOUT: &'static str = "Check the text of a model file: returns every error with line, column, \
        reason and fix, or a summary of the valid model. Nothing is changed, and the served model does not \
        matter.";
    type Arguments = ModelArguments;
    type Output = CheckOutput;

    async fn run(_: Session, arguments: ModelArguments) -> Result<CheckOutput, ToolError> {
        Ok(match check(arguments.text()?) {
            Ok(model) => summary(&layout(&model)),
            Err(errors) => CheckOutput {
                valid: false,
                errors: errors.iter().take(LISTED_MAX).map(ErrorOutput::new).collect(),
                entities: vec![],
                indexes: None,
            },
        })
    }
}

impl ModelArguments {
    fn text(&self) -> Result<&str, ToolError> {
        match self.model.len() <= MODEL_BYTES_MAX {
            true => Ok(&self.model),
            false => {
                let message = format!("The model is longer than {MODEL_BYTES_MAX} bytes.");
                Err(ToolError::argument(message).with_hint("Check it with `keyloom check FILE`."))
            }
        }
    }

    /// The model, if it is valid.
    pub(super) fn checked(&self) -> Result<Model, ToolError> {
        check(self.text()?).map_err(|errors| {
            let errors: Vec<ErrorOutput> =
                errors.iter().take(LISTED_MAX).map(ErrorOutput::new).collect();
            ToolError::new("invalid-model", "The model has errors.")
                .with_hint("Fix them first; `check_model` lists them too.")
                .with_details(serde_json::json!({ "errors": errors }))
        })
    }
}

impl ErrorOutput {
    fn new(error: &ModelError) -> ErrorOutput {
        ErrorOutput {
            line: error.line(),
            column: error.column(),
            code: error.code().as_str().to_owned(),
            reason: error.reason().to_owned(),
            help: error.help().map(str::to_owned),
        }
    }
}

fn summary(layout: &Layout) -> CheckOutput {
    let entities = layout.model().entities().map(|(id, entity)| EntitySummary {
        name: entity.name.clone(),
        // The id is a field of every entity.
        fields: entity.fields.len() - 1,
        lists: entity.lists.len(),
        uniques: entity.uniques.len(),
        counts: entity.counts().count(),
        boards: entity.boards().count(),
        rows_per_write_max: layout.rows_max(id),
    });
    let (entities, indexes) = (entities.collect(), Some(layout.slot_count()));
    CheckOutput { valid: true, errors: vec![], entities, indexes }
}
