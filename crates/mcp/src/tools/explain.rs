//! `explain`: the plan of a declared query, what it read, and its price.

use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;
use serde_json::Value as Json;

use super::run_query::QueryArguments;
use crate::plan_text::plan_lines;
use crate::response::read;
use crate::session::Session;
use crate::tool::ReadOnlyTool;
use crate::tool_error::ToolError;

pub(crate) struct Explain;

/// The plan and the price of a request.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExplainOutput {
    /// The request to the server.
    request: String,
    /// The steps of the plan, indented; a number in parentheses is the size of a list.
    plan: Vec<String>,
    /// The ways in which each list could have been read, the cheapest first: what is done, rows that it is likely to
    /// read, and whether it was chosen. Empty if there was no choice.
    considered: Vec<Json>,
    /// Rows that were read.
    rows: Json,
    /// Bytes that were read.
    bytes: Json,
    /// Reads of the store, by kind: rows, bytes and read units of each.
    reads: Vec<Json>,
    /// Read units that the request costs on DynamoDB.
    read_units: Json,
    /// Price of a million such requests on DynamoDB, in US dollars.
    dollars_per_million: f64,
}

impl ReadOnlyTool for Explain {
    const NAME: &'static str = "explain";
    const TITLE: &'static str = "Explain a declared query";
    const ABOUT: &'static str = "Run a declared query and return its plan, the rows and bytes it read, and \
        its price on DynamoDB, instead of its rows. Takes the same arguments as `query`.";
    type Arguments = QueryArguments;
    type Output = ExplainOutput;

    async fn run(session: Session, arguments: QueryArguments) -> Result<ExplainOutput, ToolError> {
        let catalog = session.catalog().await?;
        let query = catalog.query(arguments.entity(), arguments.query())?;
        let target = arguments.target(query)?;
        let explained =
            target.clone().with(query.option("explain").unwrap_or("explain"), "true")?;
        let response = read(&session.get(&explained).await?)?;
        let explain = response.get("explain").cloned().unwrap_or_default();
        let dollars = explain["dynamodb"]["dollars"].as_f64().unwrap_or_default();
        Ok(ExplainOutput {
            request: format!("GET {target}"),
            plan: plan_lines(&explain),
            considered: considered(&explain),
            rows: explain["rows"].clone(),
            bytes: explain["bytes"].clone(),
            reads: explain["requests"].as_array().cloned().unwrap_or_default(),
            read_units: explain["dynamodb"]["read_units"].clone(),
            dollars_per_million: dollars * 1e6,
        })
    }
}

fn considered(explain: &Json) -> Vec<Json> {
    let lists = explain["lists"].as_array().into_iter().flatten();
    lists.flat_map(|list| list["considered"].as_array().cloned().unwrap_or_default()).collect()
}
