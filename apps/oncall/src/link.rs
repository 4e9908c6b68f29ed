//! Links that are secrets: whoever has one may see a search, or answer it. The secret is in the link
//! alone; the store has its hash.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyloom::events::Failure;
use keyloom::{Db, Error, Value};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::rows::{Search, read};
use crate::service::Service;

/// 24 characters in a link: short enough for a text message, and nobody guesses 144 bits.
const SECRET_BYTES: usize = 18;
/// How long a link works, if the search does not end before.
const LASTS_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// What a link leads to.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Link {
    pub(crate) domain: String,
    pub(crate) search: String,
    /// The attempt that it answers; none if it only shows the search.
    pub(crate) attempt: Option<String>,
}

/// Makes a link to a search; the secret of it.
pub(crate) async fn make(
    service: &Service,
    db: &Db,
    (search, attempt): (&Search, Option<&str>),
) -> Result<String, Failure> {
    let mut secret = [0; SECRET_BYTES];
    service.entropy.fill(&mut secret)?;
    let secret = URL_SAFE_NO_PAD.encode(secret);
    let expires = service.now_ms().saturating_add(LASTS_MS);
    let link = json!({ "id": hash(&secret), "domain": search.domain, "search": search.id,
                       "attempt": attempt, "expires": expires });
    db.create("link", &link).await?;
    Ok(secret)
}

/// What a secret leads to, with the database of its domain.
pub(crate) async fn find(db: &Db, secret: &str) -> Result<Option<(Link, Db)>, Error> {
    let Some((link, _)) = read::<Link>(db, "link", &hash(secret)).await? else { return Ok(None) };
    let domain = db.tenant(Value::from(link.domain.as_str()));
    Ok(Some((link, domain)))
}

fn hash(secret: &str) -> String {
    Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
