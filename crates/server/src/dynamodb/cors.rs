//! Cross-origin requests, which the service allows to every page: what a page may do depends on the
//! signature alone.

use axum::response::Response;
use hyper::Method;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN,
};
use hyper::http::request::Parts;

/// How long a browser may keep the answer to a preflight request, in seconds.
const MAX_AGE_SECS: HeaderValue = HeaderValue::from_static("172800");
const EXPOSED: HeaderValue =
    HeaderValue::from_static("x-amzn-RequestId,x-amzn-ErrorType,x-amz-crc32,Date");

/// A request that a page of another origin sent.
#[derive(Debug)]
pub(super) struct Cors;

impl Cors {
    /// `None` if no page sent the request.
    pub(super) fn of(head: &Parts) -> Option<Cors> {
        head.headers.contains_key(ORIGIN).then_some(Cors)
    }

    /// Answers a preflight request; what it asks for is allowed.
    pub(super) fn preflight(&self, head: &Parts) -> Option<Response> {
        if head.method != Method::OPTIONS {
            return None;
        }
        let mut response = Response::default();
        let headers = response.headers_mut();
        self.allow(headers);
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE_SECS);
        let asked = [
            (ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_ALLOW_HEADERS),
            (ACCESS_CONTROL_REQUEST_METHOD, ACCESS_CONTROL_ALLOW_METHODS),
        ];
        for (asked, allowed) in asked {
            if let Some(value) = head.headers.get(asked) {
                headers.insert(allowed, value.clone());
            }
        }
        Some(response)
    }

    /// Lets the page read the response.
    pub(super) fn allow(&self, headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}
