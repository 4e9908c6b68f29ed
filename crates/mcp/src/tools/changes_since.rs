//! `changes_since`: changes of entities after a position.

use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::run_query::limit;
use crate::response::read;
use crate::session::Session;
use crate::shown::Shown;
use crate::target::Target;
use crate::tool::ReadOnlyTool;
use crate::tool_error::ToolError;

pub(crate) struct ChangesSince;

/// Where to start, and which changes to return.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangesArguments {
    /// `next` of an earlier call. Without it, no changes are returned, only the current position.
    position: Option<String>,
    /// Return only changes of these entities.
    #[serde(default)]
    entities: Vec<String>,
    /// Maximum number of changes, from 1 to 200 [default: 50].
    limit: Option<u32>,
}

/// Changes, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangesOutput {
    /// The changes: entity, id, change, the entity before (`old`) and after (`new`), position and time.
    changes: Vec<Json>,
    /// The position to pass to the next call.
    next: String,
    /// Whether there may be more now.
    more: bool,
    /// Number of texts that were cut because the result would be too long; each ends with a mark.
    cut_texts: u64,
}

impl ReadOnlyTool for ChangesSince {
    const NAME: &'static str = "changes_since";
    const TITLE: &'static str = "List changes since a position";
    const ABOUT: &'static str = "Return what was created, updated and deleted after a position of the \
        change feed, oldest first, with the entities before and after. Without a position, returns the \
        current one: keep it, and pass it later to see what has changed since.";
    type Arguments = ChangesArguments;
    type Output = ChangesOutput;

    async fn run(
        session: Session,
        arguments: ChangesArguments,
    ) -> Result<ChangesOutput, ToolError> {
        let limit = limit(arguments.limit)?.to_string();
        let mut target = Target::fixed("/changes/page").with("limit", &limit)?;
        if let Some(position) = &arguments.position {
            target = target.with("after", position)?;
        }
        for entity in &arguments.entities {
            target = target.with("entity", entity)?;
        }
        let Shown { members, cut_texts } = Shown::new(&read(&session.get(&target).await?)?)?;
        let page = Json::Object(members);
        Ok(ChangesOutput {
            changes: page["items"].as_array().cloned().unwrap_or_default(),
            next: page["next"].as_str().unwrap_or_default().to_owned(),
            more: page["more"].as_bool().unwrap_or(false),
            cut_texts,
        })
    }
}
