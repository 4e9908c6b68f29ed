//! What a server can serve.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::{Request, Response, StatusCode};

use crate::body::Body;

/// Something that answers requests: made from what a server can serve, such as
/// [`DynamoDb`](crate::DynamoDb).
#[derive(Clone)]
pub struct App {
    pub(crate) service: Arc<dyn Service>,
}

/// The answer to a request, to be waited for.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// Answers requests whose bodies have arrived.
pub(crate) trait Service: Send + Sync + 'static {
    /// Whether it takes anybody's requests.
    fn is_open(&self) -> bool;
    /// The answer.
    fn answer(self: Arc<Self>, request: Request<Bytes>) -> Answer;
    /// The server stops: answers that have no end by themselves come to one.
    fn stop(&self) {}
    /// The answer to a request whose body has not arrived.
    fn refuse(&self, refusal: Refusal) -> Response<Body> {
        let mut response = Response::new(Bytes::new().into());
        *response.status_mut() = refusal.status();
        response
    }
}

/// Why a body was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is larger than the limit.
    TooLarge,
    /// It is not what its head says, or the connection broke.
    Broken,
    /// It did not arrive in time.
    TooSlow,
    /// Others take all the room.
    NoRoom,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Broken => StatusCode::BAD_REQUEST,
            Refusal::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Refusal::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("is_open", &self.service.is_open()).finish_non_exhaustive()
    }
}
