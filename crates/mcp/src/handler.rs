//! The protocol's side: which tools there are, and who calls them.

use std::sync::Arc;

use hyper::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::session::Session;
use crate::token::Token;
use crate::tool::{Entry, TOOLS};
use crate::tool_error::ToolError;
use crate::upstream::Upstream;

const INSTRUCTIONS: &str = "\
Reads a Keyloom database: entities with declared queries, each of which has bounded cost. Start with \
`describe_model`, then use `query` with the queries it lists; no other queries exist. Results are pages: \
pass `next` as `cursor` to continue. If no declared query answers a question, `propose` returns the \
declaration that would, with its price. All tools are read-only.";

/// Serves the tools.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    upstream: Arc<Upstream>,
    token: Option<Token>,
    who: Who,
}

/// Whom tools are served to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The process at the other end of stdio, or this machine.
    Local,
    /// Anybody who has a token of the Keyloom server.
    Bearers,
}

impl Handler {
    pub(crate) fn new(upstream: Arc<Upstream>, token: Option<Token>, who: Who) -> Handler {
        Handler { upstream, token, who }
    }

    /// The server as whoever sent this request sees it: with their own token, or else with that of this
    /// process.
    async fn session(&self, context: &RequestContext<RoleServer>) -> Result<Session, ToolError> {
        let parts = context.extensions.get::<Parts>();
        let own = parts.map(|parts| Token::of_request(&parts.headers)).transpose();
        let own = own.map_err(|message| ToolError::new("unauthorized", message))?.flatten();
        if self.who == Who::Bearers {
            self.check_bearer(own.as_ref()).await?;
        }
        Ok(Session::new(self.upstream.clone(), own.or_else(|| self.token.clone())))
    }

    /// A server without tokens accepts whatever comes from this machine, with any token or none. To
    /// others that must not be passed on.
    async fn check_bearer(&self, token: Option<&Token>) -> Result<(), ToolError> {
        if !self.upstream.is_unauthorized(None).await? {
            let message =
                "The Keyloom server requires no tokens, so it cannot be served to others.";
            return Err(ToolError::new("open-server", message)
                .with_hint("Create a token with `keyloom token create`, or listen on loopback."));
        }
        match self.upstream.is_unauthorized(token).await? {
            false => Ok(()),
            true => Err(ToolError::new("unauthorized", "The token is invalid.")),
        }
    }

    async fn call(
        &self,
        entry: &Entry,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        match self.session(context).await {
            Ok(session) => (entry.call)(session, request.arguments.unwrap_or_default()).await,
            Err(error) => error.into_result(),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("keyloom", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().map(|entry| (entry.describe)()).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|entry| entry.name == name).map(|entry| (entry.describe)())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = TOOLS.iter().find(|entry| entry.name == request.name) else {
            let names: Vec<&str> = TOOLS.iter().map(|entry| entry.name).collect();
            let message = format!("Unknown tool. The tools are: {}.", names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(self.call(entry, request, &context).await.into())
    }
}
