//! The first token of a server: its operator chooses it, and the server creates it at start.

use std::fmt;

use keyloom::{Entropy, Error};
use keyloom_store::Time;
use thiserror::Error as ThisError;

use super::role::Role;
use super::token::{Token, TokenRequest, whole_parts};
use super::tokens::Tokens;

const NAME: &str = "first token";

/// A token chosen by the operator. Its `Debug` output does not contain the secret.
pub struct AdminToken {
    text: String,
}

/// Why a server cannot start with the chosen token.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum AdminTokenError {
    /// It does not have the form of a token.
    #[error("the admin token is malformed: create one with `keyloom token generate`.")]
    Malformed,
    /// A token with its id exists with another secret.
    #[error(
        "the token {id} exists with another secret. Use the original token, or a new one from \
         `keyloom token generate`."
    )]
    OtherSecret {
        /// The id.
        id: String,
    },
    /// It exists, but has expired or another role.
    #[error(
        "the token {id} exists, but has expired or lacks the role admin. Use a new one from \
         `keyloom token generate`."
    )]
    NotAdmin {
        /// The id.
        id: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

impl AdminToken {
    /// Parses a generated token.
    ///
    /// # Errors
    ///
    /// [`AdminTokenError::Malformed`].
    pub fn new(text: &str) -> Result<AdminToken, AdminTokenError> {
        whole_parts(text).ok_or(AdminTokenError::Malformed)?;
        Ok(AdminToken { text: text.to_owned() })
    }

    /// Generates the text of a new token. It is not stored.
    ///
    /// # Errors
    ///
    /// If the system provides no random bytes.
    pub fn generate(entropy: &dyn Entropy) -> std::io::Result<String> {
        Token::make(request(), Time(0), entropy).map(|(_, text)| text)
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminToken").finish_non_exhaustive()
    }
}

impl Tokens {
    /// Creates a token with the role admin, unless it exists. Concurrent calls in processes that share a
    /// store are safe.
    ///
    /// # Errors
    ///
    /// If another token has its id, or the store fails.
    pub async fn ensure_admin(&self, admin: &AdminToken) -> Result<(), AdminTokenError> {
        let (id, secret) = whole_parts(&admin.text).ok_or(AdminTokenError::Malformed)?;
        let token = Token::known(id, secret, request(), self.now());
        let Some(found) = self.insert(&token).await? else { return Ok(()) };
        let id = id.to_owned();
        // A damaged row admits nobody, whatever its secret was.
        let found = Token::from_item(&found).filter(|found| found.is_secret(secret));
        let found = found.ok_or_else(|| AdminTokenError::OtherSecret { id: id.clone() })?;
        let is_admin = found.role == Role::Admin && found.admits(secret, self.now());
        if is_admin { Ok(()) } else { Err(AdminTokenError::NotAdmin { id }) }
    }
}

fn request() -> TokenRequest {
    TokenRequest {
        role: Role::Admin,
        user: None,
        tenant: None,
        name: NAME.to_owned(),
        expires: None,
    }
}
