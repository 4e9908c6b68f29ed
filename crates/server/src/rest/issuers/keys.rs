//! The keys of an issuer, which it replaces from time to time.
//!
//! A set is read again if a token names a key that it lacks, though not more often than every ten seconds,
//! and every five minutes, so that keys that the issuer has withdrawn are not accepted for long. If it
//! cannot be read, the last one stays. It is read by a task of its own: a client that goes away stops
//! nothing that others wait for.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyOperations, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey};
use keyloom::Clock;
use serde_json::Value as Json;
use tokio::sync::Mutex as AsyncMutex;

use crate::{HttpClient, HttpClientOptions};

/// How often keys are read at most, for tokens whose key is unknown.
const INTERVAL_MIN_MS: u64 = 10_000;
/// How often keys are read while tokens come.
const INTERVAL_MS: u64 = 5 * 60_000;
/// How old keys may be while they are read again.
const AGE_MAX_MS: u64 = 2 * INTERVAL_MS;
/// How often keys are read at most while none are known.
const RETRY_MS: u64 = 1_000;
/// The least length of a shared secret: as long as the shortest digest.
const SECRET_BYTES_MIN: usize = 32;

/// Where the keys of an issuer are, as a JSON Web Key Set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// In a file. It can also hold a secret that issuer and server share (`kty` is `oct`).
    File(PathBuf),
    /// At a URL.
    Url(String),
}

/// The keys of an issuer. Clones share them.
#[derive(Clone)]
pub(super) struct Keys(Arc<Shared>);

struct Shared {
    source: KeySource,
    /// Fetches keys at a URL.
    client: Option<HttpClient>,
    clock: Arc<dyn Clock>,
    known: RwLock<Arc<Vec<Key>>>,
    last: Mutex<LastRead>,
    /// Held by the one that reads them.
    reading: AsyncMutex<()>,
}

/// When keys were last read, or that was tried, and why it failed.
#[derive(Clone, Default)]
struct LastRead {
    at_ms: Option<u64>,
    error: Option<String>,
}

/// A key, and what it verifies.
pub(super) struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    pub(super) verifying: DecodingKey,
}

impl Key {
    fn is_for(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        let is_named = id.is_none() || self.id.is_none() || self.id.as_deref() == id;
        is_named && self.algorithms.contains(&algorithm)
    }
}

impl Keys {
    /// The keys at a source. Those in a file are read now.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or the URL is invalid.
    pub(super) fn new(source: KeySource, clock: Arc<dyn Clock>) -> Result<Keys, String> {
        let (mut known, mut last, mut client) = (vec![], LastRead::default(), None);
        match &source {
            KeySource::File(_) => {
                known = read_file(&source)?;
                if known.is_empty() {
                    return Err(format!("{} has no key for signatures.", source.shown()));
                }
                last.at_ms = Some(clock.now().0);
            }
            KeySource::Url(url) => {
                let is_url = url.starts_with("https://") || url.starts_with("http://");
                if !is_url {
                    return Err(format!("`{url}` must begin with https:// or http://."));
                }
                client = Some(HttpClient::new(HttpClientOptions::default())?);
            }
        }
        let (known, last) = (RwLock::new(Arc::new(known)), Mutex::new(last));
        let reading = AsyncMutex::new(());
        Ok(Keys(Arc::new(Shared { source, client, clock, known, last, reading })))
    }

    /// The keys that a token may be signed with.
    ///
    /// # Errors
    ///
    /// If none is known because the keys cannot be read.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Arc<Vec<Key>>, String> {
        let known = self.0.known();
        let is_known = known.iter().any(|key| key.is_for(id, algorithm));
        let interval_ms = if is_known { INTERVAL_MS } else { INTERVAL_MIN_MS };
        if is_known && !self.0.is_older_than(INTERVAL_MS) {
            return Ok(known);
        }
        let shared = self.0.clone();
        let reading = tokio::spawn(async move { shared.read_again(interval_ms).await });
        if is_known && !self.0.is_older_than(AGE_MAX_MS) {
            return Ok(known);
        }
        match reading.await.map_err(|error| error.to_string())? {
            Err(error) if known.is_empty() => Err(error),
            Ok(()) | Err(_) => Ok(self.0.known()),
        }
    }
}

impl KeySource {
    /// What messages call it.
    fn shown(&self) -> String {
        match self {
            KeySource::File(path) => path.display().to_string(),
            KeySource::Url(url) => format!("`{url}`"),
        }
    }
}

impl Shared {
    /// Reads the keys, unless that was tried a short time ago.
    async fn read_again(&self, interval_ms: u64) -> Result<(), String> {
        let _reading = self.reading.lock().await;
        let last = self.last().clone();
        // Others may have read them meanwhile.
        let is_missing = last.error.is_some() && self.known().is_empty();
        let interval_ms = if is_missing { RETRY_MS } else { interval_ms };
        if !self.is_older_than(interval_ms) {
            return last.error.map_or(Ok(()), Err);
        }
        let begun_ms = self.clock.now().0;
        let read = self.read().await;
        if let Err(error) = &read {
            tracing::warn!(%error, "The keys of an issuer could not be read.");
        }
        // Keys are as old as the request for them; a failure may take as long as the next try waits.
        let at_ms = if read.is_ok() { begun_ms } else { self.clock.now().0 };
        let error = read.as_ref().err().cloned();
        *self.last() = LastRead { at_ms: Some(at_ms), error };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read?);
        Ok(())
    }

    async fn read(&self) -> Result<Vec<Key>, String> {
        let (KeySource::Url(url), Some(client)) = (&self.source, &self.client) else {
            return read_file(&self.source);
        };
        let response = client.get(url).await.map_err(|error| error.to_string())?;
        match response.is_success() {
            true => keys(&response.body, &self.source),
            false => Err(format!("`{url}` answered with status {}.", response.status)),
        }
    }

    fn known(&self) -> Arc<Vec<Key>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn last(&self) -> MutexGuard<'_, LastRead> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether keys were read so long ago; also if the clock was set back since.
    fn is_older_than(&self, interval_ms: u64) -> bool {
        let now = self.clock.now().0;
        self.last().at_ms.is_none_or(|read| now < read || now - read >= interval_ms)
    }
}

/// The keys among those of a set that a token may be signed with.
pub(super) fn meant<'k>(
    keys: &'k [Key],
    id: Option<&'k str>,
    algorithm: Algorithm,
) -> impl Iterator<Item = &'k Key> {
    keys.iter().filter(move |key| key.is_for(id, algorithm))
}

fn read_file(source: &KeySource) -> Result<Vec<Key>, String> {
    let KeySource::File(path) = source else { return Ok(vec![]) };
    let text = std::fs::read(path);
    let text = text.map_err(|error| format!("cannot read {}: {error}.", path.display()))?;
    keys(&text, source)
}

/// The usable keys of a set. Others may be for other purposes.
fn keys(text: &[u8], source: &KeySource) -> Result<Vec<Key>, String> {
    let at = source.shown();
    let invalid = || format!("{at} is not a JSON Web Key Set, an object with a list `keys`.");
    let mut set: Json = serde_json::from_slice(text).map_err(|_| invalid())?;
    let all = set.get_mut("keys").and_then(Json::as_array_mut).ok_or_else(invalid)?;
    let jwks = all.drain(..).filter_map(|jwk| serde_json::from_value::<Jwk>(jwk).ok());
    let set = JwkSet { keys: jwks.collect() };
    let mut keys = vec![];
    for jwk in &set.keys {
        keys.extend(key(jwk, source).map_err(|error| format!("{at}: {error}"))?);
    }
    Ok(keys)
}

fn key(jwk: &Jwk, source: &KeySource) -> Result<Option<Key>, String> {
    let is_secret = matches!(jwk.algorithm, AlgorithmParameters::OctetKey(_));
    let verifies = |operations: &Vec<KeyOperations>| operations.contains(&KeyOperations::Verify);
    let is_for_signatures =
        matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature))
            && jwk.common.key_operations.as_ref().is_none_or(verifies);
    let is_public = matches!(source, KeySource::Url(_));
    // What anybody can fetch is no secret.
    if !is_for_signatures || is_secret && is_public {
        return Ok(None);
    }
    let mut algorithms = algorithms(jwk);
    if let Some(declared) = jwk.common.key_algorithm {
        // One that is not for signatures leaves none.
        let declared = declared.to_string().parse::<Algorithm>().ok();
        algorithms.retain(|one| Some(*one) == declared);
    }
    if algorithms.is_empty() {
        return Ok(None);
    }
    let Ok(verifying) = DecodingKey::from_jwk(jwk) else { return Ok(None) };
    if is_secret && verifying.try_get_as_bytes().is_ok_and(|key| key.len() < SECRET_BYTES_MIN) {
        return Err(format!("a shared secret must have at least {SECRET_BYTES_MIN} bytes."));
    }
    Ok(Some(Key { id: jwk.common.key_id.clone(), algorithms, verifying }))
}

/// The algorithms that a key can be used with, by its type.
fn algorithms(jwk: &Jwk) -> Vec<Algorithm> {
    use Algorithm::{
        ES256, ES384, EdDSA, HS256, HS384, HS512, PS256, PS384, PS512, RS256, RS384, RS512,
    };
    match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::OctetKey(_) => vec![HS256, HS384, HS512],
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => vec![ES256],
            EllipticCurve::P384 => vec![ES384],
            _ => vec![],
        },
        AlgorithmParameters::OctetKeyPair(key) => match key.curve {
            EllipticCurve::Ed25519 => vec![EdDSA],
            _ => vec![],
        },
        _ => vec![],
    }
}
