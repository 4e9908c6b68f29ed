//! What a server serves.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName};

use crate::http::exchange::Exchange;
use crate::http::metrics::Metrics;
use crate::http::refusal::Refusal;

/// Something that answers requests, made from a [`Rest`](crate::Rest) or a
/// [`DynamoDb`](crate::DynamoDb).
#[derive(Clone)]
pub struct App(pub(crate) Arc<dyn Service>);

/// A response in the making.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Response> + Send + 'a>>;

/// An app, as the edge sees it.
pub(crate) trait Service: Send + Sync + 'static {
    /// Answers a request. It must [note](Exchange::note) what the log is to say, unless the edge is to format the
    /// response as a refusal.
    fn answer<'a>(self: Arc<Self>, exchange: &'a Arc<Exchange>, request: Request) -> Answering<'a>;
    /// Whether it accepts requests without authentication.
    fn is_open(&self) -> bool;
    /// Its metrics.
    fn metrics(&self) -> &Metrics;
    /// The id of a request with these headers.
    fn request_id(&self, headers: &HeaderMap) -> String;
    /// The header of responses that has the request id.
    fn request_id_header(&self) -> HeaderName;
    /// Formats a refusal of the edge as a response of the app, with its code, if it has one.
    fn refuse(&self, refusal: Refusal, request_id: &str) -> (Response, Option<&'static str>);
    /// A path as it is logged, without secrets.
    fn log_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        Cow::Borrowed(path)
    }
    /// Adds headers that depend on the body as it is sent.
    fn add_body_headers(&self, _headers: &mut HeaderMap, _body: &Bytes) {}
    /// Ends endless responses, because the server stops.
    fn stop(&self) {}
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("is_open", &self.0.is_open()).finish_non_exhaustive()
    }
}
