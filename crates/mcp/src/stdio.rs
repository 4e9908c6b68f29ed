//! Tools for the process that started this one.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::stdio;

use crate::handler::{Handler, Who};
use crate::options::McpOptions;
use crate::upstream::Upstream;

/// Serves tools over stdin and stdout, until stdin ends.
///
/// # Errors
///
/// If the options are invalid, or the client does not speak the protocol.
pub async fn serve_stdio(options: McpOptions) -> Result<(), String> {
    let upstream = Arc::new(Upstream::new(&options)?);
    let handler = Handler::new(upstream, options.token, Who::Local);
    let service = handler.serve(stdio()).await;
    let service = service.map_err(|error| format!("the client did not initialize: {error}."))?;
    let ended = service.waiting().await;
    ended.map(|_| ()).map_err(|error| format!("serving has failed: {error}."))
}
