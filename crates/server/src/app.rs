//! What a server can serve.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName};

use crate::http::metrics::Metrics;
use crate::http::refusal::Refusal;

/// Something that answers requests: made from what a server can serve, such as
/// [`DynamoDb`](crate::DynamoDb).
#[derive(Clone)]
pub struct App {
    pub(crate) router: Router,
    pub(crate) face: Arc<dyn Face>,
}

/// What the edge has to know of an app.
pub(crate) trait Face: Send + Sync + 'static {
    /// Whether it takes anybody's requests.
    fn is_open(&self) -> bool;
    /// What it counts.
    fn metrics(&self) -> &Metrics;
    /// The id of a request with these headers.
    fn request_id(&self, headers: &HeaderMap) -> String;
    /// The header that answers carry the id in.
    fn request_id_header(&self) -> HeaderName;
    /// What the edge has to say, in the app's words.
    fn refuse(&self, refusal: Refusal, request_id: &str) -> Response;
    /// A path as the log may show it, without secrets.
    fn shown_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        Cow::Borrowed(path)
    }
    /// Headers about the body as it is sent.
    fn seal(&self, _headers: &mut HeaderMap, _body: &Bytes) {}
    /// The server stops: answers that have no end by themselves come to one.
    fn stop(&self) {}
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("is_open", &self.face.is_open()).finish_non_exhaustive()
    }
}
