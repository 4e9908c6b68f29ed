//! An identity provider: keys, and the tokens it signs.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyloom_server::{ClaimNames, IssuerOptions, KeySource};
use keyloom_testkit::ManualClock;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value as Json, json};

pub(crate) const ISSUER: &str = "https://login.example/";
pub(crate) const AUDIENCE: &str = "api";

/// What signs tokens.
pub(crate) enum Signer {
    Secret(Vec<u8>),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Signer {
    pub(crate) fn secret(byte: u8) -> Signer {
        Signer::Secret(vec![byte; 32])
    }

    pub(crate) fn ecdsa() -> Signer {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Signer::Ecdsa(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
    }

    pub(crate) fn ed25519() -> Signer {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Signer::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Signer::Secret(_) => "HS256",
            Signer::Ecdsa(_) => "ES256",
            Signer::Ed25519(_) => "EdDSA",
        }
    }

    /// The key that verifies, as JSON.
    pub(crate) fn jwk(&self, id: &str) -> Json {
        let mut key = match self {
            Signer::Secret(secret) => json!({ "kty": "oct", "k": encoded(secret) }),
            Signer::Ecdsa(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": encoded(x), "y": encoded(y) })
            }
            Signer::Ed25519(pair) => {
                let x = encoded(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x })
            }
        };
        key["kid"] = json!(id);
        key
    }

    /// A token with these claims.
    pub(crate) fn sign(&self, id: &str, claims: &Json) -> String {
        self.sign_as(&json!({ "alg": self.algorithm(), "kid": id, "typ": "JWT" }), claims)
    }

    pub(crate) fn sign_as(&self, header: &Json, claims: &Json) -> String {
        let text = |json: &Json| encoded(json.to_string().as_bytes());
        let message = format!("{}.{}", text(header), text(claims));
        let signature = match self {
            Signer::Secret(secret) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
                hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
            }
            Signer::Ecdsa(pair) => {
                pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec()
            }
            Signer::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", encoded(&signature))
    }
}

pub(crate) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The claims of a user, valid for an hour.
pub(crate) fn claims(subject: &str) -> Json {
    let now = ManualClock::START.0 / 1000;
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": now + 3600 })
}

/// An issuer with these keys, without clock skew.
pub(crate) fn issuer(keys: KeySource) -> IssuerOptions {
    IssuerOptions {
        issuer: ISSUER.to_owned(),
        audiences: vec![AUDIENCE.to_owned(), "other".to_owned()],
        keys,
        leeway: Duration::ZERO,
        claims: ClaimNames { roles: Some("roles".to_owned()), ..ClaimNames::default() },
        subject_prefix: String::new(),
        roles: [].into(),
    }
}

/// A file with a set of keys.
pub(crate) fn key_file(keys: &[Json]) -> KeySource {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("keys-{}-{}.json", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path: PathBuf = std::env::temp_dir().join(name);
    std::fs::write(&path, json!({ "keys": keys }).to_string()).unwrap();
    KeySource::File(path)
}

/// A server with a set of keys, which can be replaced. It counts requests.
#[derive(Clone, Default)]
pub(crate) struct KeyServer {
    pub(crate) keys: Arc<Mutex<Option<Vec<Json>>>>,
    pub(crate) requests: Arc<AtomicU64>,
}

impl KeyServer {
    /// Starts it; without keys it fails.
    pub(crate) fn start(&self) -> KeySource {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let server = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = vec![];
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read_exact(&mut byte).is_err() {
                        break;
                    }
                    head.extend(byte);
                }
                server.requests.fetch_add(1, Ordering::SeqCst);
                let keys = server.keys.lock().unwrap().clone();
                let (status, body) = match keys {
                    Some(keys) => ("200 OK", json!({ "keys": keys }).to_string()),
                    None => ("500 Broken", String::new()),
                };
                let length = body.len();
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        KeySource::Url(url)
    }
}
