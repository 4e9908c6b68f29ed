//! Answers with the headers that clients check.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::Full;
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use hyper::{Response, StatusCode};

/// Bodies below this are not worth compressing.
const GZIP_BYTES_MIN: usize = 1024;

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
    pub(super) fn response(self, asked: &HeaderMap) -> Response<Full<Bytes>> {
        let compressed = (self.body.len() >= GZIP_BYTES_MIN && accepts_gzip(asked))
            .then(|| gzip(&self.body))
            .flatten();
        let is_compressed = compressed.is_some();
        let body = compressed.unwrap_or(self.body);
        let checksum = HeaderValue::from(crc32fast::hash(&body));
        let mut response = Response::new(Full::new(Bytes::from(body)));
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

/// Whether a client says that it takes gzip; `gzip;q=0` says that it does not.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = values.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refuses = weight.trim().trim_start_matches("q=").parse() == Ok(0.0);
        name.trim().eq_ignore_ascii_case("gzip") && !refuses
    })
}

fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}
