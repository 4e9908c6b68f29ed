//! Refusals of the edge. Each app formats them in its own way.

use axum::response::Response;
use hyper::StatusCode;

/// Why the edge refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The body is larger than the limit.
    TooLarge,
    /// The body is shorter or longer than declared, or the connection failed.
    Incomplete,
    /// The body did not arrive in time.
    TooSlow,
    /// Other bodies take all the memory for bodies.
    MemoryFull,
    /// The body is compressed with an unsupported encoding.
    UnknownEncoding,
    /// The app took too long to answer.
    Overdue,
    /// The limit of streams is reached.
    TooManyStreams,
    /// The app panicked.
    Panicked,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Incomplete => StatusCode::BAD_REQUEST,
            Refusal::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Refusal::UnknownEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Refusal::MemoryFull | Refusal::Overdue | Refusal::TooManyStreams => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Refusal::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What is wrong and how to fix it.
    pub(crate) fn detail(self) -> &'static str {
        match self {
            Refusal::TooLarge => {
                "The body exceeds the size limit of the server: send less at once."
            }
            Refusal::Incomplete => "The body is incomplete: send all of it.",
            Refusal::TooSlow => "The body did not arrive in time: send it faster.",
            Refusal::MemoryFull => "Too many request bodies arrive at once: retry.",
            Refusal::UnknownEncoding => {
                "Unsupported `Content-Encoding`: send the body uncompressed, or with gzip."
            }
            Refusal::Overdue => {
                "The request timed out. A change was applied either completely or not at all: read \
                 before you retry."
            }
            Refusal::TooManyStreams => "Too many streams are open: close one, or retry later.",
            Refusal::Panicked => {
                "Internal server error. The server's log has the cause, under the request id."
            }
        }
    }

    /// Whether the body was not read to its end, so that the connection cannot be reused.
    pub(crate) fn ends_connection(self) -> bool {
        matches!(
            self,
            Refusal::TooLarge | Refusal::Incomplete | Refusal::TooSlow | Refusal::MemoryFull
        )
    }
}

/// An empty response that carries the refusal: [`observe`](super::observe) has the app format it.
impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Response {
        let mut response = Response::default();
        *response.status_mut() = refusal.status();
        response.extensions_mut().insert(refusal);
        response
    }
}
