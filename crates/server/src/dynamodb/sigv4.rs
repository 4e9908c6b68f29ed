//! Verifies signatures of requests (AWS Signature Version 4).
//!
//! ```text
//! authorization ::= "AWS4-HMAC-SHA256" part ("," part)*
//! part          ::= "Credential=" key "/" date "/" region "/dynamodb/aws4_request"
//!                 | "SignedHeaders=" name (";" name)* | "Signature=" hex
//! ```
//!
//! Stricter than the specification in one point: every `x-amz-` header of the request must be signed,
//! since one of them names the operation.

use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::http::request::Parts;
use ring::digest::{SHA256, digest};
use ring::hmac;

use super::{Credentials, timestamp};

/// How far the clock of a client may differ.
const SKEW_SECS: u64 = 300;
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The header with the time of the signature.
const DATE: &str = "x-amz-date";

/// Why a request is denied: code and message of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denial {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// The parsed header `Authorization`.
struct Authorization<'a> {
    key: &'a str,
    date: &'a str,
    region: &'a str,
    signed: Vec<&'a str>,
    signature: Vec<u8>,
}

/// Checks the headers only: whether a valid signature would admit the request.
pub(super) fn recognize(
    credentials: &Credentials,
    now_secs: u64,
    headers: &HeaderMap,
) -> Result<(), Denial> {
    let authorization = authorization(headers, now_secs)?;
    match credentials.secret(authorization.key) {
        Some(_) => Ok(()),
        None => Err(unrecognized()),
    }
}

/// Verifies the signature of a request. `now_secs` is in seconds since 1970.
pub(super) fn verify(
    credentials: &Credentials,
    now_secs: u64,
    head: &Parts,
    body: &[u8],
) -> Result<(), Denial> {
    let authorization = authorization(&head.headers, now_secs)?;
    let canonical = canonical_request(&authorization, head, body)
        .ok_or_else(|| incomplete("A signed header is missing or is not text."))?;
    let Authorization { key, date, region, signature, .. } = &authorization;
    let time = text(&head.headers, DATE).unwrap_or_default();
    let scope = format!("{date}/{region}/dynamodb/aws4_request");
    let hash = hex(digest(&SHA256, canonical.as_bytes()).as_ref());
    let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{hash}");
    let secret = credentials.secret(key).ok_or_else(unrecognized)?;
    let signing = signing_key(&secret, date, region);
    hmac::verify(&signing, to_sign.as_bytes(), signature).map_err(|_| {
        invalid(
            "The request signature we calculated does not match the signature you provided. Check \
             your AWS Secret Access Key and signing method. Consult the service documentation for \
             details.",
        )
    })
}

/// Parses the header `Authorization`, and checks that the signature is recent and covers all required
/// headers.
fn authorization(headers: &HeaderMap, now_secs: u64) -> Result<Authorization<'_>, Denial> {
    let header = text(headers, AUTHORIZATION.as_str()).ok_or_else(|| Denial {
        code: "MissingAuthenticationTokenException",
        message: "Request is missing Authentication Token".to_owned(),
    })?;
    let authorization = parse(header)?;
    check_time(&authorization, text(headers, DATE).unwrap_or_default(), now_secs)?;
    check_signed_headers(&authorization, headers)?;
    Ok(authorization)
}

fn parse(header: &str) -> Result<Authorization<'_>, Denial> {
    let Some(rest) = header.trim().strip_prefix(ALGORITHM) else {
        return Err(incomplete("Unsupported AWS 'algorithm' (only AWS4-HMAC-SHA256 for now)."));
    };
    let part = |name: &str| {
        let parts = rest.split(',').filter_map(|part| part.trim().split_once('='));
        let found = parts.filter(|(known, _)| *known == name).map(|(_, value)| value).next();
        found.ok_or_else(|| {
            incomplete(&format!("Authorization header requires '{name}' parameter."))
        })
    };
    let credential: Vec<&str> = part("Credential")?.split('/').collect();
    let [key, date, region, service, end] = credential.as_slice() else {
        return Err(incomplete(
            "Credential must have exactly 5 slash-delimited elements, e.g. \
             keyid/date/region/service/term.",
        ));
    };
    if *service != "dynamodb" {
        return Err(invalid("Credential should be scoped to correct service: 'dynamodb'."));
    }
    if *end != "aws4_request" {
        return Err(invalid(
            "Credential should be scoped with a valid terminator: 'aws4_request'.",
        ));
    }
    let signature =
        unhex(part("Signature")?).ok_or_else(|| incomplete("Signature must be hex."))?;
    let signed = part("SignedHeaders")?.split(';').collect();
    Ok(Authorization { key, date, region, signed, signature })
}

fn check_time(authorization: &Authorization<'_>, time: &str, now_secs: u64) -> Result<(), Denial> {
    let Some(signed_at) = timestamp::parse(time) else {
        return Err(incomplete(
            "Authorization header requires existence of a 'X-Amz-Date' header in ISO-8601 'basic \
             format'.",
        ));
    };
    if !time.starts_with(authorization.date) || authorization.date.len() != 8 {
        return Err(invalid(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from \
             HTTP.",
        ));
    }
    if signed_at + SKEW_SECS < now_secs {
        return Err(invalid(&format!("Signature expired: {time} is more than 5 min. old.")));
    }
    if signed_at > now_secs + SKEW_SECS {
        return Err(invalid(&format!("Signature not yet current: {time} is in the future.")));
    }
    Ok(())
}

fn check_signed_headers(
    authorization: &Authorization<'_>,
    headers: &HeaderMap,
) -> Result<(), Denial> {
    let is_signed = |name: &str| authorization.signed.contains(&name);
    if !is_signed("host") {
        return Err(invalid("'Host' must be a 'SignedHeader' in the AWS Authorization."));
    }
    let amazon = headers.keys().map(|name| name.as_str()).filter(|name| name.starts_with("x-amz-"));
    match amazon.into_iter().find(|name| !is_signed(name)) {
        Some(name) => {
            Err(invalid(&format!("'{name}' must be a 'SignedHeader' in the AWS Authorization.")))
        }
        None => Ok(()),
    }
}

/// What the signature covers: method, path, query, signed headers, and the hash of the body.
fn canonical_request(
    authorization: &Authorization<'_>,
    head: &Parts,
    body: &[u8],
) -> Option<String> {
    let mut query: Vec<&str> = head.uri.query().unwrap_or_default().split('&').collect();
    query.sort_unstable();
    let mut text = format!("{}\n{}\n{}\n", head.method, head.uri.path(), query.join("&"));
    for name in &authorization.signed {
        let values = head.headers.get_all(*name).iter();
        let values: Vec<String> = values
            .map(|value| {
                Some(value.to_str().ok()?.split_whitespace().collect::<Vec<_>>().join(" "))
            })
            .collect::<Option<_>>()?;
        if values.is_empty() {
            return None;
        }
        text.push_str(&format!("{name}:{}\n", values.join(",")));
    }
    text.push_str(&format!("\n{}\n", authorization.signed.join(";")));
    text.push_str(&hex(digest(&SHA256, body).as_ref()));
    Some(text)
}

fn signing_key(secret: &str, date: &str, region: &str) -> hmac::Key {
    let start = hmac::Key::new(hmac::HMAC_SHA256, format!("AWS4{secret}").as_bytes());
    [date, region, "dynamodb", "aws4_request"].iter().fold(start, |key, part| {
        hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref())
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

fn unrecognized() -> Denial {
    Denial {
        code: "UnrecognizedClientException",
        message: "The security token included in the request is invalid.".to_owned(),
    }
}

fn invalid(message: &str) -> Denial {
    Denial { code: "InvalidSignatureException", message: message.to_owned() }
}

fn incomplete(message: &str) -> Denial {
    Denial { code: "IncompleteSignatureException", message: message.to_owned() }
}
