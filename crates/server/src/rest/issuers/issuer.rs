//! One issuer: verifies its tokens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Validation, decode, decode_header};
use keyloom::Clock;
use keyloom_store::Time;
use serde_json::Value as Json;

use super::claims::{ClaimNames, Claims};
use super::keys::{KeySource, Keys, meant};
use super::{Identity, Unidentified};

/// An issuer of JSON Web Tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerOptions {
    /// Its name, as the claim `iss` has it: usually a URL.
    pub issuer: String,
    /// The names of this service: the claim `aud` must have one of them.
    pub audiences: Vec<String>,
    /// Where its keys are.
    pub keys: KeySource,
    /// By how much the clocks of issuer and server may differ.
    pub leeway: Duration,
    /// The claims that describe a user.
    pub claims: ClaimNames,
    /// What subjects begin with here. If there are several issuers, each needs another one: nobody knows
    /// whether `ann` of one is `ann` of another.
    pub subject_prefix: String,
    /// The roles that values of the claim for roles stand for; others stand for themselves. The built-in
    /// roles `reader`, `writer` and `admin` are granted in this way alone.
    pub roles: BTreeMap<String, Vec<String>>,
}

/// An issuer whose tokens can be verified.
pub(super) struct Issuer {
    options: IssuerOptions,
    keys: Keys,
    clock: Arc<dyn Clock>,
}

/// The issuer that a token names, which is not verified yet.
pub(super) fn named_in(token: &str) -> Option<String> {
    let claims: Claims = insecure_decode_claims(token).ok()?;
    Some(claims.get("iss")?.as_str()?.to_owned())
}

impl Issuer {
    pub(super) fn new(options: IssuerOptions, clock: Arc<dyn Clock>) -> Result<Issuer, String> {
        let named = |error: String| format!("The issuer `{}`: {error}", options.issuer);
        if options.audiences.is_empty() {
            return Err(named("name at least one audience.".to_owned()));
        }
        let keys = Keys::new(options.keys.clone(), clock.clone()).map_err(named)?;
        Ok(Issuer { keys, options, clock })
    }

    pub(super) fn name(&self) -> &str {
        &self.options.issuer
    }

    /// Verifies a token.
    pub(super) async fn identify(&self, token: &str) -> Result<Identity, Unidentified> {
        let claims = self.verified(token).await?;
        let expires = self.check_times(&claims).map_err(Unidentified::Invalid)?;
        let IssuerOptions { claims: names, roles, subject_prefix, .. } = &self.options;
        let mut user = names.user(&claims, roles).map_err(Unidentified::Invalid)?;
        user.subject.insert_str(0, subject_prefix);
        let tenant = names.tenant(&claims).map_err(Unidentified::Invalid)?;
        Ok(Identity { user, tenant, expires })
    }

    /// The claims of a token with a valid signature, of this issuer and for this service.
    async fn verified(&self, token: &str) -> Result<Claims, Unidentified> {
        let invalid = |why: &str| Unidentified::Invalid(why.to_owned());
        let header = decode_header(token).map_err(|_| invalid("Its header cannot be read."))?;
        // Its issuer demands that it is refused unless these are understood.
        if header.crit.is_some() {
            return Err(invalid("Its header has extensions that must be understood (`crit`)."));
        }
        let (id, algorithm) = (header.kid.as_deref(), header.alg);
        let keys = self
            .keys
            .find(id, algorithm)
            .await
            .map_err(|cause| Unidentified::NoKeys { issuer: self.options.issuer.clone(), cause })?;
        let validation = self.validation(algorithm);
        let mut why = "Its issuer has no key with the id and for the algorithm in its header.";
        for key in meant(&keys, id, algorithm) {
            match decode::<Claims>(token, &key.verifying, &validation) {
                Ok(decoded) => return Ok(decoded.claims),
                Err(error) => why = reason(error.kind()),
            }
        }
        Err(invalid(why))
    }

    fn validation(&self, algorithm: jsonwebtoken::Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_issuer(&[&self.options.issuer]);
        validation.set_audience(&self.options.audiences);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        // Times are checked by the clock of the database.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation
    }

    /// Checks that a token is valid now. Returns when it expires.
    fn check_times(&self, claims: &Claims) -> Result<Time, String> {
        let leeway_ms = u64::try_from(self.options.leeway.as_millis()).unwrap_or(u64::MAX);
        let now_ms = self.clock.now().0;
        let expires = time_ms(claims, "exp")?.ok_or("It has no `exp`.")?.saturating_add(leeway_ms);
        if expires <= now_ms {
            return Err("It has expired: sign in again.".to_owned());
        }
        match time_ms(claims, "nbf")? {
            Some(from) if from > now_ms.saturating_add(leeway_ms) => {
                Err("It is not valid yet (`nbf`): check the clocks of issuer and server."
                    .to_owned())
            }
            Some(_) | None => Ok(Time(expires)),
        }
    }
}

/// A claim that is a time: seconds since 1970, perhaps with a fraction.
fn time_ms(claims: &Claims, name: &str) -> Result<Option<u64>, String> {
    match claims.get(name) {
        None | Some(Json::Null) => Ok(None),
        // Times beyond the range are those at its end.
        Some(Json::Number(seconds)) => {
            Ok(seconds.as_f64().map(|seconds| (seconds * 1000.0) as u64))
        }
        Some(_) => Err(format!("Its `{name}` is not a number of seconds.")),
    }
}

/// What is wrong with a token.
fn reason(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidSignature => "Its signature is wrong.",
        ErrorKind::InvalidAudience => "It is for another service (`aud`).",
        ErrorKind::InvalidIssuer => "This server does not trust its issuer (`iss`).",
        ErrorKind::MissingRequiredClaim(_) => "It lacks `exp`, `iss` or `aud`.",
        _ => "It cannot be read.",
    }
}
