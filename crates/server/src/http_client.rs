//! A client for requests to other servers, with or without TLS: one connection per request, a time limit,
//! and a limited response size. It follows no redirects and keeps no cookies.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::ServerName;
use tokio::time::timeout;

use crate::Reach;
use crate::reach::{ConnectError, Connector};
use crate::tls::client_tls;

/// Maximum size of a response body, by default.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// How requests are sent.
#[derive(Clone, Debug)]
pub struct HttpClientOptions {
    /// Time limit of a request, from name resolution to the end of the response.
    pub time: Duration,
    /// Which addresses requests may go to.
    pub reach: Reach,
    /// PEM file of certificates to trust in addition to those of the system.
    pub trusted: Option<PathBuf>,
    /// Maximum size of a response body.
    pub response_bytes_max: usize,
}

impl Default for HttpClientOptions {
    /// Ten seconds, to anywhere, responses of up to 64 KiB.
    fn default() -> HttpClientOptions {
        HttpClientOptions {
            time: Duration::from_secs(10),
            reach: Reach::Anywhere,
            trusted: None,
            response_bytes_max: RESPONSE_BYTES_MAX,
        }
    }
}

/// Sends requests to other servers. Clones share their state.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<HttpsConnector<Connector>, Full<Bytes>>,
    time: Duration,
    reach: Reach,
    response_bytes_max: usize,
}

/// A request to another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// `https://host/path` or `http://...`.
    pub address: String,
    /// Additional headers; `content-type` is JSON unless given.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The response of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The body; empty if it is longer than [`HttpClientOptions::response_bytes_max`].
    pub body: Vec<u8>,
}

/// Why a request got no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HttpError {
    /// What is wrong, and with which address.
    pub message: String,
    /// Whether a retry would fail again, because of the request or its address.
    pub is_permanent: bool,
}

impl HttpResponse {
    /// Whether the status is from 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the request was rejected for good. Other failures are worth a retry.
    pub fn is_refused(&self) -> bool {
        !self.is_success() && self.status < 500 && ![408, 425, 429].contains(&self.status)
    }
}

impl HttpClient {
    /// A client with these options.
    ///
    /// # Errors
    ///
    /// If the trusted certificates cannot be read.
    pub fn new(options: HttpClientOptions) -> Result<HttpClient, String> {
        let HttpClientOptions { time, reach, trusted, response_bytes_max } = options;
        let tls = client_tls(trusted.as_deref())?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config((*tls).clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector { reach });
        // No connection is reused: what one receiver does with a connection must not affect other
        // requests.
        let client =
            Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(HttpClient { client, time, reach, response_bytes_max })
    }

    /// Sends a POST request and waits for the response. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// If there is no response in time, or the address cannot be reached at all.
    pub async fn post(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let address = request.address.clone();
        self.in_time(&address, self.exchange(Method::POST, request)).await
    }

    /// Sends a GET request.
    ///
    /// # Errors
    ///
    /// If there is no response in time.
    pub async fn get(&self, address: &str) -> Result<HttpResponse, HttpError> {
        let request = HttpRequest { address: address.to_owned(), headers: vec![], body: vec![] };
        self.get_with(request).await
    }

    /// Sends a GET request with headers.
    ///
    /// # Errors
    ///
    /// If there is no response in time, or the address cannot be reached at all.
    pub async fn get_with(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let address = request.address.clone();
        self.in_time(&address, self.exchange(Method::GET, request)).await
    }

    async fn in_time(
        &self,
        address: &str,
        exchange: impl Future<Output = Result<HttpResponse, HttpError>>,
    ) -> Result<HttpResponse, HttpError> {
        match timeout(self.time, exchange).await {
            Ok(answer) => answer,
            Err(_) => {
                let seconds = self.time.as_secs_f32();
                Err(transient(format!("`{address}` did not answer within {seconds} seconds.")))
            }
        }
    }

    async fn exchange(
        &self,
        method: Method,
        request: HttpRequest,
    ) -> Result<HttpResponse, HttpError> {
        let uri = uri(&request.address)?;
        let authority = uri.authority().map_or_else(String::new, ToString::to_string);
        let answer = self.client.request(encoded(method, uri, request)?).await;
        let answer = answer.map_err(|error| unreachable(&authority, &error))?;
        Ok(read_response(answer, self.response_bytes_max).await)
    }
}

async fn read_response(response: Response<Incoming>, bytes_max: usize) -> HttpResponse {
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), bytes_max).collect().await;
    // The status alone decides about success: a body that cannot be read is dropped.
    HttpResponse { status, body: body.map_or_else(|_| vec![], |body| body.to_bytes().to_vec()) }
}

/// Parses and checks the URL of a request.
fn uri(address: &str) -> Result<Uri, HttpError> {
    let invalid = |why: &str| permanent(format!("Invalid address `{address}`: {why}."));
    let uri: Uri = address.parse().map_err(|_| invalid("it is not a URL"))?;
    let is_tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        Some(_) | None => return Err(invalid("it must begin with http:// or https://")),
    };
    let authority = uri.authority().ok_or_else(|| invalid("it has no host"))?;
    if authority.as_str().contains('@') {
        return Err(invalid("it must not contain a user name"));
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        return Err(invalid("it has no host"));
    }
    if authority.port().is_none() && authority.as_str().len() > authority.host().len() {
        return Err(invalid("its port is invalid"));
    }
    if is_tls && ServerName::try_from(host).is_err() {
        return Err(invalid("its host is not a valid name for TLS"));
    }
    Ok(uri)
}

/// Why there was no connection or no response: the root cause.
fn unreachable(authority: &str, error: &ClientError) -> HttpError {
    let mut why: &(dyn std::error::Error + 'static) = error;
    while let Some(deeper) = why.source() {
        why = deeper;
    }
    match why.downcast_ref() {
        Some(private @ ConnectError::Private { .. }) => permanent(private.to_string()),
        Some(ConnectError::Io(_)) | None => {
            transient(format!("`{authority}` cannot be reached: {why}."))
        }
    }
}

fn encoded(
    method: Method,
    uri: Uri,
    request: HttpRequest,
) -> Result<Request<Full<Bytes>>, HttpError> {
    let mut encoded = Request::new(Full::new(Bytes::from(request.body)));
    *encoded.method_mut() = method;
    *encoded.uri_mut() = uri;
    let headers = encoded.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static("keyloom"));
    for (name, value) in &request.headers {
        let invalid = || permanent(format!("The header `{name}` has an invalid name or value."));
        let value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        headers.insert(HeaderName::try_from(name.as_str()).map_err(|_| invalid())?, value);
    }
    Ok(encoded)
}

fn transient(message: impl Into<String>) -> HttpError {
    HttpError { message: message.into(), is_permanent: false }
}

fn permanent(message: impl Into<String>) -> HttpError {
    HttpError { message: message.into(), is_permanent: true }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("time", &self.time).field("reach", &self.reach).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_or_rejected() {
        for (address, is_valid) in [
            ("http://a.example", true),
            ("https://a.example:8443/x?y=1", true),
            ("https://[::1]/x", true),
            ("ftp://a.example", false),
            ("a.example/x", false),
            ("https://user:word@a.example", false),
            ("https://", false),
            ("", false),
            ("http://a b/", false),
            ("http://a.example:99999/", false),
            ("https://a_b..example/", false),
        ] {
            assert_eq!(uri(address).is_ok(), is_valid, "{address}");
        }
    }

    #[test]
    fn statuses_determine_whether_to_retry() {
        let of = |status| {
            let response = HttpResponse { status, body: vec![] };
            (response.is_success(), response.is_refused())
        };
        for taken in [200, 202, 204] {
            assert_eq!(of(taken), (true, false), "{taken}");
        }
        for refused in [301, 308, 400, 401, 403, 404, 410, 422] {
            assert_eq!(of(refused), (false, true), "{refused}");
        }
        for passing in [408, 425, 429, 500, 502, 503, 504] {
            assert_eq!(of(passing), (false, false), "{passing}");
        }
    }
}
