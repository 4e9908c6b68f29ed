//! What a tool is, and the list of all.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::session::Session;
use crate::tool_error::ToolError;
use crate::tools::{
    ChangesSince, CheckModel, DescribeModel, DiffModel, Explain, Propose, RunQuery, Verify,
};

/// A tool. Its arguments and its result are types, which also are the schemas that clients see.
pub(crate) trait ReadOnlyTool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// For the assistant that decides whether to call it.
    const ABOUT: &'static str;
    type Arguments: DeserializeOwned + JsonSchema + Send + 'static;
    type Output: Serialize + JsonSchema + Send + 'static;

    fn run(
        session: Session,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// The result as text for people and assistants, if that is not its JSON.
    fn text(_: &Self::Output) -> Option<String> {
        None
    }
}

/// A tool, without its types.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) describe: fn() -> Tool,
    pub(crate) call: fn(Session, JsonObject) -> Calling,
}

type Calling = Pin<Box<dyn Future<Output = CallToolResult> + Send>>;

/// All tools, in the order in which an assistant needs them.
pub(crate) const TOOLS: [Entry; 8] = [
    entry::<DescribeModel>(),
    entry::<RunQuery>(),
    entry::<Explain>(),
    entry::<Propose>(),
    entry::<CheckModel>(),
    entry::<DiffModel>(),
    entry::<ChangesSince>(),
    entry::<Verify>(),
];

const fn entry<T: ReadOnlyTool>() -> Entry {
    Entry { name: T::NAME, describe: describe::<T>, call: call::<T> }
}

fn describe<T: ReadOnlyTool>() -> Tool {
    let annotations = ToolAnnotations::with_title(T::TITLE)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    // Arguments are structs, whose schemas are objects.
    let input = schema_for_input::<T::Arguments>().unwrap_or_else(|_| Arc::default());
    Tool::new(T::NAME, T::ABOUT, portable(&input))
        .with_title(T::TITLE)
        .with_raw_output_schema(Arc::new(portable(&schema_for_output::<T::Output>())))
        .with_annotations(annotations)
}

/// A schema without formats such as `uint32`: JSON Schema has none of them, and validators complain.
fn portable(schema: &JsonObject) -> JsonObject {
    let is_kept = |(name, value): &(&String, &Json)| !(*name == "format" && value.is_string());
    let kept = schema.iter().filter(is_kept);
    kept.map(|(name, value)| (name.clone(), portable_value(value))).collect()
}

fn portable_value(value: &Json) -> Json {
    match value {
        Json::Object(members) => Json::Object(portable(members)),
        Json::Array(values) => values.iter().map(portable_value).collect(),
        other => other.clone(),
    }
}

fn call<T: ReadOnlyTool>(session: Session, arguments: JsonObject) -> Calling {
    Box::pin(async move {
        let output = match serde_json::from_value(Json::Object(arguments)) {
            Ok(arguments) => T::run(session, arguments).await,
            Err(error) => Err(ToolError::argument(format!("Invalid arguments: {error}."))
                .with_hint(format!("See the input schema of `{}`.", T::NAME))),
        };
        output.and_then(|output| result::<T>(&output)).unwrap_or_else(ToolError::into_result)
    })
}

fn result<T: ReadOnlyTool>(output: &T::Output) -> Result<CallToolResult, ToolError> {
    let json = serde_json::to_value(output).map_err(|error| {
        ToolError::new("internal", format!("Cannot write the result: {error}."))
    })?;
    let mut result = CallToolResult::structured(json);
    if let Some(text) = T::text(output) {
        result.content = vec![ContentBlock::text(text)];
    }
    Ok(result)
}
