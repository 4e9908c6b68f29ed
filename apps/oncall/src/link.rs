//! Secret links, which let their holder see or answer a search. The store has only a hash of the secret.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyloom::events::Failure;
use keyloom::{Db, Error, Value};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::rows::{Search, read};
use crate::service::Service;

/// 144 bits, 24 characters in a link: too many to guess, short enough for a text message.
const SECRET_BYTES: usize = 18;
/// The lifetime of a link.
const LIFETIME_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The target of a link.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Link {
    pub(crate) domain: String,
    pub(crate) search: String,
    /// The attempt that it answers; none for a link to watch.
    pub(crate) attempt: Option<String>,
}

/// Creates a link to a search, and returns its secret.
pub(crate) async fn create(
    service: &Service,
    db: &Db,
    (search, attempt): (&Search, Option<&str>),
) -> Result<String, Failure> {
    let mut secret = [0; SECRET_BYTES];
    service.entropy.fill(&mut secret)?;
    let secret = URL_SAFE_NO_PAD.encode(secret);
    let expires = service.now_ms().saturating_add(LIFETIME_MS);
    let link = json!({ "id": hash(&secret), "domain": search.domain, "search": search.id,
                       "attempt": attempt, "expires": expires });
    db.create("link", &link).await?;
    Ok(secret)
}

/// Finds the target of a secret, with the database of its domain.
pub(crate) async fn find(db: &Db, secret: &str) -> Result<Option<(Link, Db)>, Error> {
    let Some((link, _)) = read::<Link>(db, "link", &hash(secret)).await? else { return Ok(None) };
    let domain = db.tenant(Value::from(link.domain.as_str()));
    Ok(Some((link, domain)))
}

fn hash(secret: &str) -> String {
    Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
