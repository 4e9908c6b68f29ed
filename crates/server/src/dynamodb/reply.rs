//! Responses of the endpoint.

use axum::body::Body;
use axum::response::Response;
use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};

const JSON: &str = "application/x-amz-json-1.0";

/// A response of the endpoint.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) media_type: Option<&'static str>,
    /// What a page may load and run.
    pub(super) policy: Option<HeaderValue>,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn json(status: u16, body: String) -> Reply {
        Reply { status, media_type: Some(JSON), policy: None, body }
    }

    pub(super) fn text(status: u16, body: impl Into<String>) -> Reply {
        Reply { status, media_type: None, policy: None, body: body.into() }
    }
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Response {
        let mut response = Response::new(Body::from(reply.body));
        *response.status_mut() =
            StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if let Some(media_type) = reply.media_type {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        if let Some(policy) = reply.policy {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}
