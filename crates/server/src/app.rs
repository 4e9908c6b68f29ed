//! What a server can serve.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};

/// Something that answers requests: made from what a server can serve, such as
/// [`DynamoDb`](crate::DynamoDb).
#[derive(Clone)]
pub struct App {
    pub(crate) service: Arc<dyn Service>,
}

/// The answer to a request, to be waited for.
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Response<Full<Bytes>>> + Send + 'a>>;

/// Answers requests whose bodies have arrived.
pub(crate) trait Service: Send + Sync + 'static {
    /// Whether it takes anybody's requests.
    fn is_open(&self) -> bool;
    /// The answer.
    fn answer(&self, request: Request<Bytes>) -> Answer<'_>;
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("is_open", &self.service.is_open()).finish_non_exhaustive()
    }
}
