//! `verify`: checks derived data, a part at a time.

use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::limits::LISTED_MAX;
use crate::response::read;
use crate::session::Session;
use crate::shown::Shown;
use crate::target::Target;
use crate::tool::ReadOnlyTool;
use crate::tool_error::ToolError;

pub(crate) struct Verify;

/// Where to continue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyArguments {
    /// `next` of the call before. Without it, the verification starts from the beginning.
    position: Option<String>,
}

/// The result for one part.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VerifyOutput {
    /// What is wrong in this part, with entity and id; at most 100.
    findings: Vec<Json>,
    /// How many findings this part has.
    found: usize,
    /// Rows verified so far.
    rows: Json,
    /// Approximate number of rows.
    rows_total: Json,
    /// The position of the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What was not verified, because it reads every row: `counters`, if the model has any.
    /// `keyloom verify` does.
    unverified: Json,
}

impl ReadOnlyTool for Verify {
    const NAME: &'static str = "verify";
    const TITLE: &'static str = "Verify derived data";
    const ABOUT: &'static str = "Recompute the derived rows (positions in lists, unique values, references, \
        posting lists) of about 500 rows and compare them with what is stored; call it again with `next` \
        until there is none. Repairs nothing. Needs an admin token that is not limited to a tenant.";
    type Arguments = VerifyArguments;
    type Output = VerifyOutput;

    async fn run(session: Session, arguments: VerifyArguments) -> Result<VerifyOutput, ToolError> {
        let mut target = Target::fixed("/verify");
        if let Some(position) = &arguments.position {
            target = target.with("after", position)?;
        }
        let mut response = read(&session.post(&target).await?)?;
        let mut found = 0;
        if let Some(findings) = response.get_mut("findings").and_then(Json::as_array_mut) {
            found = findings.len();
            findings.truncate(LISTED_MAX);
        }
        let shown = Json::Object(Shown::new(&response)?.members);
        Ok(VerifyOutput {
            findings: shown["findings"].as_array().cloned().unwrap_or_default(),
            found,
            rows: shown["rows"].clone(),
            rows_total: shown["rows_total"].clone(),
            next: shown["next"].as_str().map(str::to_owned),
            unverified: shown["unverified"].clone(),
        })
    }
}
