//! Answers with the headers that clients check.

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::body::Body;
use crate::gzip::{Gzip, compressed};

const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const CHECKSUM: HeaderName = HeaderName::from_static("x-amz-crc32");

/// An answer in the making.
pub(super) struct Reply<'a> {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    pub(super) request_id: &'a str,
    pub(super) is_json: bool,
}

impl Reply<'_> {
    /// The answer to a request with these headers. The checksum is of the bytes that are sent.
    pub(super) fn response(self, asked: &HeaderMap) -> Response<Body> {
        let compressed = compressed(&self.body, Gzip::of(asked));
        let is_compressed = compressed.is_some();
        let body = compressed.unwrap_or(self.body);
        let checksum = HeaderValue::from(crc32fast::hash(&body));
        let mut response = Response::new(Bytes::from(body).into());
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if self.is_json {
            headers.insert(CONTENT_TYPE, JSON);
        }
        if is_compressed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Ok(id) = HeaderValue::from_str(self.request_id) {
            headers.insert(REQUEST_ID, id);
        }
        headers.insert(CHECKSUM, checksum);
        response
    }
}
