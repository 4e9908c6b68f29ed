//! Issuers of JSON Web Tokens: identity providers whose users the server accepts.
//!
//! A token names its issuer, which must be one that the operator trusts. It is verified with a key of that
//! issuer, and its claims say who the user is. The `jsonwebtoken` crate parses and validates; signatures
//! are verified by `ring`, as everywhere else here.

mod claims;
mod issuer;
mod keys;
mod ring_provider;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use keyloom::{Clock, User};
use keyloom_store::Time;

use issuer::Issuer;

pub use claims::ClaimNames;
pub use issuer::IssuerOptions;
pub use keys::KeySource;

/// The issuers of JSON Web Tokens that a server trusts.
pub struct Issuers(Vec<Issuer>);

/// Who a valid token says that the caller is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) user: User,
    pub(super) tenant: Option<String>,
    /// When the token expires, with the leeway of the issuer.
    pub(super) expires: Time,
}

/// Why a token identifies nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unidentified {
    /// The token is to blame: what is wrong with it.
    Invalid(String),
    /// The keys of the issuer could not be fetched.
    NoKeys { issuer: String, cause: String },
}

impl Issuers {
    /// Trusts these issuers. Keys in files are read now; those at URLs with the first token.
    ///
    /// # Errors
    ///
    /// If two have the same name, or subjects that could be the same; if a file cannot be read, or a URL is
    /// invalid.
    pub fn new(issuers: Vec<IssuerOptions>, clock: Arc<dyn Clock>) -> Result<Issuers, String> {
        let mut names = BTreeSet::new();
        if let Some(twice) = issuers.iter().find(|options| !names.insert(&options.issuer)) {
            return Err(format!("The issuer `{}` is configured twice.", twice.issuer));
        }
        let prefixes: Vec<&str> = issuers.iter().map(|one| one.subject_prefix.as_str()).collect();
        for (index, prefix) in prefixes.iter().enumerate() {
            let mut others = prefixes.iter().enumerate().filter(|(other, _)| *other != index);
            if others.any(|(_, other)| other.starts_with(prefix)) {
                return Err(format!(
                    "The issuer `{}` shares its users with another one: give each a \
                     `subject_prefix`, of which none begins with another.",
                    issuers[index].issuer
                ));
            }
        }
        ring_provider::install();
        let issuers = issuers.into_iter().map(|options| Issuer::new(options, clock.clone()));
        Ok(Issuers(issuers.collect::<Result<_, String>>()?))
    }

    /// Identifies the bearer of a token.
    pub(super) async fn identify(&self, token: &str) -> Result<Identity, Unidentified> {
        let named = issuer::named_in(token).ok_or_else(|| {
            Unidentified::Invalid(
                "It is neither a token of this server nor a JSON Web Token.".into(),
            )
        })?;
        let issuer = self.0.iter().find(|issuer| issuer.name() == named).ok_or_else(|| {
            Unidentified::Invalid("This server does not trust its issuer (`iss`).".to_owned())
        })?;
        issuer.identify(token).await
    }
}

impl fmt::Debug for Issuers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(Issuer::name)).finish()
    }
}
