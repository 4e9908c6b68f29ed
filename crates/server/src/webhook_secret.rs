//! Signatures of webhook requests as the "Standard Webhooks" specification defines them, so that receivers
//! find a library for their language: an HMAC of id, time and body.

use std::fmt;

use ring::hmac::{HMAC_SHA256, Key, sign, verify};

use crate::base64;

/// The headers that carry a signature.
const ID: &str = "webhook-id";
const TIME: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";

const PREFIX: &str = "whsec_";
const VERSION: &str = "v1,";
const SECRET_BYTES_MIN: usize = 16;
/// How old a signature may be, or how far in the future: limits replays.
const TOLERANCE_SECS: u64 = 5 * 60;

/// The secret that sender and receiver share.
#[derive(Clone)]
pub struct WebhookSecret {
    key: Key,
}

impl WebhookSecret {
    /// Parses a secret: `whsec_` followed by base64, or any text of at least 16 bytes.
    ///
    /// # Errors
    ///
    /// If it is shorter, or what follows `whsec_` is not base64.
    pub fn new(text: &str) -> Result<WebhookSecret, String> {
        let text = text.trim();
        let bytes = match text.strip_prefix(PREFIX) {
            None => text.as_bytes().to_vec(),
            Some(rest) => base64::decode(rest)
                .ok_or_else(|| format!("Invalid secret: what follows `{PREFIX}` is not base64."))?,
        };
        if bytes.len() < SECRET_BYTES_MIN {
            return Err(format!("Invalid secret: it needs at least {SECRET_BYTES_MIN} bytes."));
        }
        Ok(WebhookSecret { key: Key::new(HMAC_SHA256, &bytes) })
    }

    /// The headers of a signed body. Retries of one request have the same id.
    pub fn headers(&self, id: &str, unix_secs: u64, body: &[u8]) -> Vec<(String, String)> {
        let tag = sign(&self.key, &signed(id, &unix_secs.to_string(), body));
        let signature = format!("{VERSION}{}", base64::encode(tag.as_ref()));
        let named = [(ID, id.to_owned()), (TIME, unix_secs.to_string()), (SIGNATURE, signature)];
        named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Checks that a body was signed with this secret, within five minutes. `header` returns the value of
    /// a header.
    ///
    /// # Errors
    ///
    /// Why the signature is not accepted.
    pub fn check<'h>(
        &self,
        header: impl Fn(&str) -> Option<&'h str>,
        now_unix_secs: u64,
        body: &[u8],
    ) -> Result<(), &'static str> {
        let (Some(id), Some(time), Some(given)) = (header(ID), header(TIME), header(SIGNATURE))
        else {
            return Err("The request is not signed: it needs the headers `webhook-id`, \
                        `webhook-timestamp` and `webhook-signature`.");
        };
        let secs: u64 =
            time.parse().map_err(|_| "`webhook-timestamp` is not a number of seconds.")?;
        if secs.abs_diff(now_unix_secs) > TOLERANCE_SECS {
            return Err("The request was signed more than five minutes ago, or in the future.");
        }
        let message = signed(id, time, body);
        // There are several while a secret is rotated.
        let mut tags =
            given.split(' ').filter_map(|one| base64::decode(one.strip_prefix(VERSION)?));
        match tags.any(|tag| verify(&self.key, &message, &tag).is_ok()) {
            true => Ok(()),
            false => Err("The signature does not match the body and the secret."),
        }
    }
}

fn signed(id: &str, time: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", time.as_bytes(), b".", body].concat()
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const MESSAGE: &[u8] = br#"{"test": 2432232314}"#;

    #[test]
    fn signatures_are_those_of_the_specification() {
        let secret = WebhookSecret::new(SECRET).unwrap();
        let headers = secret.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, MESSAGE);
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(headers[2], ("webhook-signature".to_owned(), expected.to_owned()));
    }

    #[test]
    fn only_recent_signatures_with_the_secret_are_accepted() {
        let secret = WebhookSecret::new(SECRET).unwrap();
        let headers = secret.headers("m", 1_000_000, MESSAGE);
        let get = |name: &str| {
            headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
        };
        assert_eq!(secret.check(get, 1_000_300, MESSAGE), Ok(()));
        assert!(secret.check(get, 1_000_301, MESSAGE).is_err());
        assert!(secret.check(get, 999_699, MESSAGE).is_err());
        assert!(secret.check(get, 1_000_000, b"{}").is_err());
        assert!(secret.check(|_| None, 1_000_000, MESSAGE).is_err());
        let other = WebhookSecret::new("another secret of many bytes").unwrap();
        assert!(other.check(get, 1_000_000, MESSAGE).is_err());
        let forged = |name: &str| if name == ID { Some("n") } else { get(name) };
        assert!(secret.check(forged, 1_000_000, MESSAGE).is_err());
        let rotated = format!("v1,AAAA v2,x {}", get(SIGNATURE).unwrap());
        let rotated =
            |name: &str| if name == SIGNATURE { Some(rotated.as_str()) } else { get(name) };
        assert_eq!(secret.check(rotated, 1_000_000, MESSAGE), Ok(()));
    }

    #[test]
    fn short_and_malformed_secrets_are_rejected() {
        for text in ["", "short", "whsec_c2hvcnQ=", "whsec_***"] {
            assert!(WebhookSecret::new(text).is_err(), "{text}");
        }
        assert_eq!(format!("{:?}", WebhookSecret::new(SECRET).unwrap()), "WebhookSecret");
    }
}
