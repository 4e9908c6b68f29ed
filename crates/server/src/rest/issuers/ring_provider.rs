//! Signatures of JSON Web Tokens, verified by `ring`.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature as ring_signature;
use ring::signature::{RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};
use ring::{hmac, signature::VerificationAlgorithm};

static PROVIDER: CryptoProvider = CryptoProvider {
    // Nothing is signed here.
    signer_factory: |_, _| Err(Error::from(ErrorKind::InvalidAlgorithm)),
    verifier_factory: |algorithm, key| {
        Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() }))
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes `ring` verify signatures, unless the program has chosen something else.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

/// A key, for signatures by one algorithm.
struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

/// How signatures by an algorithm are verified.
enum Method {
    Hmac(hmac::Algorithm),
    Rsa(&'static RsaParameters),
    PublicKey(&'static dyn VerificationAlgorithm),
}

/// None for algorithms that a later version of the library adds.
fn method(algorithm: Algorithm) -> Option<Method> {
    Some(match algorithm {
        Algorithm::HS256 => Method::Hmac(hmac::HMAC_SHA256),
        Algorithm::HS384 => Method::Hmac(hmac::HMAC_SHA384),
        Algorithm::HS512 => Method::Hmac(hmac::HMAC_SHA512),
        Algorithm::RS256 => Method::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Method::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Method::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Method::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Method::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Method::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => Method::PublicKey(&ring_signature::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Method::PublicKey(&ring_signature::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Method::PublicKey(&ring_signature::ED25519),
        _ => return None,
    })
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], given: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match (method(self.algorithm), self.key.kind()) {
            (Some(Method::Hmac(algorithm)), DecodingKeyKind::SecretOrDer(secret)) => {
                hmac::verify(&hmac::Key::new(algorithm, secret), message, given)
            }
            (Some(Method::Rsa(parameters)), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, given)
            }
            (Some(Method::PublicKey(algorithm)), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(algorithm, key).verify(message, given)
            }
            // A key of another kind.
            _ => return Err(signature::Error::new()),
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
