//! The first token of a server that nobody can log in to yet: its operator chooses it, and a server
//! creates it when it starts.

use std::fmt;

use keyloom::{Entropy, Error};
use keyloom_store::Time;
use thiserror::Error as ThisError;

use super::access::Role;
use super::token::{Token, TokenRequest, whole_parts};
use super::tokens::Tokens;

const NAME: &str = "first token";

/// A text of the form of our tokens. Whatever shows it leaves out its secret.
pub struct AdminToken {
    text: String,
}

/// Why a server cannot start with a token that was chosen for it.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum AdminTokenError {
    /// It is no token.
    #[error("the admin token is malformed: make one with `keyloom token generate`.")]
    Malformed,
    /// The database has one with this id that it does not open.
    #[error(
        "the token {id} exists with another secret. Use the one that it was created with, or \
         another one from `keyloom token generate`."
    )]
    OtherSecret {
        /// Which one.
        id: String,
    },
    /// The database has it, and it is not an admin's, or not any more.
    #[error(
        "the token {id} exists, but has expired or lacks the role admin. Use another one from \
         `keyloom token generate`."
    )]
    NotAdmin {
        /// Which one.
        id: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

impl AdminToken {
    /// A token that was generated before.
    ///
    /// # Errors
    ///
    /// [`AdminTokenError::Malformed`] if it was not.
    pub fn new(text: &str) -> Result<AdminToken, AdminTokenError> {
        whole_parts(text).ok_or(AdminTokenError::Malformed)?;
        Ok(AdminToken { text: text.to_owned() })
    }

    /// The text of a new token, which is stored nowhere.
    ///
    /// # Errors
    ///
    /// If the system has no random bytes.
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
    /// Creates a token with the role admin, unless it exists. Processes that share a store may all
    /// do it at once: one creates it.
    ///
    /// # Errors
    ///
    /// If there is another token with its id, or the store fails.
    pub async fn ensure_admin(&self, admin: &AdminToken) -> Result<(), AdminTokenError> {
        let (id, secret) = whole_parts(&admin.text).ok_or(AdminTokenError::Malformed)?;
        let token = Token::known(id, secret, request(), self.now());
        let Some(found) = self.insert(&token).await? else { return Ok(()) };
        let id = id.to_owned();
        // A damaged row opens nothing, whatever its secret was.
        let found = Token::from_item(&found).filter(|found| found.is_secret(secret));
        let found = found.ok_or_else(|| AdminTokenError::OtherSecret { id: id.clone() })?;
        let is_admin = found.role == Role::Admin && found.admits(secret, self.now());
        if is_admin { Ok(()) } else { Err(AdminTokenError::NotAdmin { id }) }
    }
}

fn request() -> TokenRequest {
    TokenRequest { role: Role::Admin, tenant: None, name: NAME.to_owned(), expires: None }
}
