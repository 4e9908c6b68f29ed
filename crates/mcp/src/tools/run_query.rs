//! `query`: runs a declared query.

use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::catalog::Query;
use crate::limits::{ROWS, ROWS_MAX};
use crate::query_kind::QueryKind;
use crate::response::read;
use crate::session::Session;
use crate::shown::Shown;
use crate::target::Target;
use crate::tool::ReadOnlyTool;
use crate::tool_error::ToolError;

pub(crate) struct RunQuery;

/// A declared query, and which part of its result to return.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryArguments {
    /// The name of the entity, such as `task`.
    entity: String,
    /// The name of the query, as `describe_model` lists it, such as `list_task_open`. `get` reads one
    /// entity by its `id`.
    query: String,
    /// The values of its parameters by name: texts, numbers, Booleans or lists of these.
    #[serde(default)]
    parameters: Map<String, Json>,
    /// Maximum number of rows, from 1 to 200 [default: 50]. Of `get`, that of each page under `with`
    /// [default: 100 children, and 10 entries of other lists].
    limit: Option<u32>,
    /// `next` of the page before. All other arguments must stay the same.
    cursor: Option<String>,
}

/// A page of rows.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueryOutput {
    /// The name of the query.
    query: String,
    /// The rows of the page. A single entity, count or rank is one row. Numbers that a double cannot
    /// hold exactly are texts of their digits.
    rows: Vec<Map<String, Json>>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// The number of matches, if the parameter `total` was true.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Json>,
    /// Number of texts that were cut because the result would be too long; each ends with a mark.
    cut_texts: u64,
}

impl ReadOnlyTool for RunQuery {
    const NAME: &'static str = "query";
    const TITLE: &'static str = "Run a declared query";
    const ABOUT: &'static str = "Run one of the queries that the model declares (list, find by a unique \
        value, count and sums, leaderboard, rank, children, get by id with related entities in the \
        parameter `with`) and return a page of rows. Only declared queries exist: there are no ad-hoc \
        filters. For one that is not declared, the error lists the nearest ones.";
    type Arguments = QueryArguments;
    type Output = QueryOutput;

    async fn run(session: Session, arguments: QueryArguments) -> Result<QueryOutput, ToolError> {
        let catalog = session.catalog().await?;
        let query = catalog.query(&arguments.entity, &arguments.query)?;
        let body = session.get(&arguments.target(query)?).await?;
        let mut shown = Shown::new(&read(&body)?)?;
        let text = |json: Json| json.as_str().map(str::to_owned);
        let next = shown.members.remove("next").and_then(text);
        let (rows, total) = match shown.members.remove("items") {
            Some(Json::Array(items)) => (items, shown.members.remove("total")),
            Some(_) | None => (vec![Json::Object(shown.members)], None),
        };
        let object = |row: Json| match row {
            Json::Object(members) => members,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        let rows = rows.into_iter().map(object).collect();
        let (query, cut_texts) = (query.name.clone(), shown.cut_texts);
        Ok(QueryOutput { query, rows, next, total, cut_texts })
    }
}

impl QueryArguments {
    pub(super) fn entity(&self) -> &str {
        &self.entity
    }

    pub(super) fn query(&self) -> &str {
        &self.query
    }

    /// The request to the server.
    pub(super) fn target(&self, query: &Query) -> Result<Target, ToolError> {
        let mut target = query.target(&self.parameters)?;
        let limit = limit(self.limit)?;
        // Pages under `with` have defaults of their own.
        let is_sent = self.limit.is_some() || query.kind != QueryKind::Get;
        if let Some(name) = query.option("limit").filter(|_| is_sent) {
            target = target.with(name, &limit.to_string())?;
        }
        match (query.option("cursor"), &self.cursor) {
            (Some(name), Some(cursor)) => target = target.with(name, cursor)?,
            (None, Some(_)) => {
                let message = format!("`{}` has no pages, so it takes no `cursor`.", query.name);
                return Err(ToolError::argument(message));
            }
            (_, None) => {}
        }
        Ok(target)
    }
}

/// The number of rows to request.
pub(super) fn limit(given: Option<u32>) -> Result<u32, ToolError> {
    match given {
        None => Ok(ROWS),
        Some(limit @ 1..=ROWS_MAX) => Ok(limit),
        Some(limit) => {
            let message = format!("`limit` must be from 1 to {ROWS_MAX}, not {limit}.");
            Err(ToolError::argument(message).with_hint("Read the next page with `cursor`."))
        }
    }
}
