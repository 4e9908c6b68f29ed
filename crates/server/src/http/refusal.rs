//! What the edge has to say itself. Every app says it in its own words.

use axum::response::Response;
use hyper::StatusCode;

/// Why a request gets no answer of the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The body is larger than the limit.
    TooLarge,
    /// The body is not what its head says, or the connection broke.
    Broken,
    /// The body did not arrive in time.
    TooSlow,
    /// Bodies of others take all the room.
    NoRoom,
    /// The body is compressed in a way that is not understood.
    UnknownEncoding,
    /// The answer took too long.
    Overdue,
    /// There are as many streams as can be.
    TooManyStreams,
    /// The app panicked.
    Panicked,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Broken => StatusCode::BAD_REQUEST,
            Refusal::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Refusal::UnknownEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Refusal::NoRoom | Refusal::Overdue | Refusal::TooManyStreams => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Refusal::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What is wrong and what to do, in a sentence.
    pub(crate) fn detail(self) -> &'static str {
        match self {
            Refusal::TooLarge => "The body is larger than the server takes: send less at once.",
            Refusal::Broken => "The body ended before it was whole: send all of it.",
            Refusal::TooSlow => "The body did not arrive in time: send it faster.",
            Refusal::NoRoom => "Too many bodies arrive at once: try again.",
            Refusal::UnknownEncoding => "The body is compressed: send it as it is, or with gzip.",
            Refusal::Overdue => {
                "The answer took too long, and the server gave up. A change has happened as a \
                 whole or not at all: read before you try again."
            }
            Refusal::TooManyStreams => "Too many streams are open: close one, or try again later.",
            Refusal::Panicked => {
                "Something is wrong in the server. Its log says what, under the id of the request."
            }
        }
    }

    /// Whether the body of the request was not read to its end: the connection cannot be used again.
    pub(crate) fn ends_connection(self) -> bool {
        matches!(self, Refusal::TooLarge | Refusal::Broken | Refusal::TooSlow | Refusal::NoRoom)
    }
}

/// A response that says nothing yet: [`layers`](super::layers) let the app say it.
impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Response {
        let mut response = Response::default();
        *response.status_mut() = refusal.status();
        response.extensions_mut().insert(refusal);
        response
    }
}
