//! Requests to the Keyloom server.

use keyloom_server::{HttpClient, HttpClientOptions, HttpError, HttpRequest, HttpResponse};
use serde_json::Value as Json;

use crate::limits::{RESPONSE_BYTES_MAX, RESPONSE_TIME};
use crate::options::McpOptions;
use crate::target::Target;
use crate::token::Token;
use crate::tool_error::ToolError;

const TENANT_HEADER: &str = "Keyloom-Tenant";

/// The Keyloom server. It never gets anything but GET requests, and `POST /verify`, which changes nothing.
#[derive(Debug)]
pub(crate) struct Upstream {
    client: HttpClient,
    /// Without a slash at the end.
    base: String,
    tenant: Option<String>,
}

impl Upstream {
    pub(crate) fn new(options: &McpOptions) -> Result<Upstream, String> {
        let base = options.url.trim_end_matches('/').to_owned();
        let is_url = ["http://", "https://"].iter().any(|scheme| base.starts_with(scheme));
        if !is_url || base.contains(['?', '#', ' ']) {
            return Err(format!("invalid URL `{base}`: give one such as http://127.0.0.1:8080."));
        }
        let client = HttpClient::new(HttpClientOptions {
            time: RESPONSE_TIME,
            trusted: options.trusted.clone(),
            response_bytes_max: RESPONSE_BYTES_MAX,
            ..HttpClientOptions::default()
        })?;
        Ok(Upstream { client, base, tenant: options.tenant.clone() })
    }

    /// The body of the response to a GET request.
    pub(crate) async fn get(
        &self,
        token: Option<&Token>,
        target: &Target,
    ) -> Result<Vec<u8>, ToolError> {
        let response = self.client.get_with(self.request(token, target)).await;
        self.body(response)
    }

    /// The body of the response to a POST request without a body.
    pub(crate) async fn post(
        &self,
        token: Option<&Token>,
        target: &Target,
    ) -> Result<Vec<u8>, ToolError> {
        let response = self.client.post(self.request(token, target)).await;
        self.body(response)
    }

    /// Whether the server answers a request with this token, or without one, with 401.
    pub(crate) async fn is_unauthorized(&self, token: Option<&Token>) -> Result<bool, ToolError> {
        let response = self.client.get_with(self.request(token, &Target::fixed("/model"))).await;
        Ok(response.map_err(|error| self.unreachable(&error))?.status == 401)
    }

    fn request(&self, token: Option<&Token>, target: &Target) -> HttpRequest {
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        headers.extend(token.map(|token| ("authorization".to_owned(), token.header())));
        let tenant = self.tenant.clone();
        headers.extend(tenant.map(|tenant| (TENANT_HEADER.to_owned(), tenant)));
        HttpRequest { address: format!("{}{target}", self.base), headers, body: vec![] }
    }

    fn body(&self, response: Result<HttpResponse, HttpError>) -> Result<Vec<u8>, ToolError> {
        let response = response.map_err(|error| self.unreachable(&error))?;
        match (response.is_success(), response.body.is_empty()) {
            (true, false) => Ok(response.body),
            (true, true) => {
                let message = "The server's response is too long, or empty.";
                Err(ToolError::new("too-long", message)
                    .with_hint("Request fewer rows with `limit`, or fewer fields with `fields`."))
            }
            (false, _) => Err(refused(&response)),
        }
    }

    fn unreachable(&self, error: &HttpError) -> ToolError {
        let message = format!("The Keyloom server cannot be reached: {error}");
        let hint = format!("Check that `keyloom serve` runs at {}.", self.base);
        ToolError::new("unreachable", message).with_hint(hint)
    }
}

/// A response that is a problem: its `code` and `detail`, and what to do about it.
fn refused(response: &HttpResponse) -> ToolError {
    let problem: Json = serde_json::from_slice(&response.body).unwrap_or_default();
    let code = problem["code"].as_str().unwrap_or("refused").to_owned();
    let detail = problem["detail"].as_str().or(problem["title"].as_str()).map(str::to_owned);
    let status = response.status;
    let detail = detail.unwrap_or_else(|| format!("The server answered with status {status}."));
    let error = ToolError::new(code, detail);
    match status {
        401 => error.with_hint(
            "Set KEYLOOM_TOKEN or --token-file for `keyloom mcp`, or send a token of your own.",
        ),
        403 => error.with_hint("This needs a token with more access: see `keyloom token create`."),
        404 => error.with_hint("Check the id; `describe_model` lists what the server has."),
        410 => error.with_hint("Read the data again, and start without a position."),
        429 | 503 => error.with_hint("Try again in a moment."),
        _ => error,
    }
}
