//! Compressed answers, for clients that take them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{ACCEPT_ENCODING, HeaderMap};

/// Bodies below this are not worth compressing.
const BYTES_MIN: usize = 1024;

/// Whether a client takes compressed answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gzip {
    Taken,
    Refused,
}

impl Gzip {
    /// As the headers of a request say.
    pub(crate) fn of(headers: &HeaderMap) -> Gzip {
        if is_accepted(headers) { Gzip::Taken } else { Gzip::Refused }
    }
}

/// The body compressed, if it is worth it and the client takes it.
pub(crate) fn compressed(body: &[u8], gzip: Gzip) -> Option<Vec<u8>> {
    if body.len() < BYTES_MIN || gzip == Gzip::Refused {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

/// Whether a client says that it takes gzip; `gzip;q=0` says that it does not.
fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = values.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refuses = weight.trim().trim_start_matches("q=").parse() == Ok(0.0);
        name.trim().eq_ignore_ascii_case("gzip") && !refuses
    })
}
