//! Signed requests of DynamoDB clients and webhooks, and the file of access keys.

use hyper::Request;
use keyloom_server::WebhookSecret;

#[path = "../../crates/server/src/dynamodb/credentials.rs"]
#[allow(dead_code, reason = "only parts of it are used here")]
mod credentials;
#[path = "../../crates/server/src/dynamodb/sigv4.rs"]
mod sigv4;
#[path = "../../crates/server/src/dynamodb/timestamp.rs"]
mod timestamp;

use credentials::Credentials;

const NOW: u64 = 1_767_225_600;
const HEADERS: [&str; 7] = [
    "authorization",
    "x-amz-date",
    "host",
    "x-amz-target",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
];

/// Arbitrary headers are parsed and rejected: nobody can sign without the secret.
pub fn signatures(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let _ = Credentials::parse(text);
    let _ = timestamp::parse(text);
    let mut request = Request::post("/");
    for (name, value) in HEADERS.iter().zip(text.split('\n')) {
        request = request.header(*name, value);
    }
    // A line may not be a valid header value.
    let Ok(request) = request.body(()) else { return };
    let (head, ()) = request.into_parts();
    let keys =
        "[default]\naws_access_key_id = KEY\naws_secret_access_key = hidden from everybody\n";
    let keys = Credentials::parse(keys).expect("these are credentials");
    let verified = sigv4::verify(&keys, NOW, &head, b"{}");
    assert!(verified.is_err(), "it was signed without the secret");
    if sigv4::recognize(&keys, NOW, &head.headers).is_err() {
        assert!(verified.is_err(), "what is not recognized is not verified");
    }
    let secret = WebhookSecret::new("nobody knows this secret").expect("it is long enough");
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    assert!(secret.check(header, NOW, b"{}").is_err(), "it was signed without the secret");
}
