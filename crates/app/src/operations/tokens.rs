//! Managing access tokens.

use keyloom::User;
use keyloom_server::{Role, TokenRequest};
use keyloom_store::Time;
use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation};
use crate::directory::OpenMode;

/// Creates a token.
#[derive(Debug, Serialize, Deserialize)]
pub struct CreateToken {
    /// Its role.
    pub role: String,
    /// The subject of the user that it is of, if its role is `user`.
    #[serde(default)]
    pub subject: Option<String>,
    /// The roles of the user.
    #[serde(default)]
    pub roles: Vec<String>,
    /// The tenant that it is limited to; all tenants if `None`.
    pub tenant: Option<String>,
    /// Its purpose.
    pub name: String,
    /// When it expires, in milliseconds since 1970.
    pub expires: Option<u64>,
}

impl CreateToken {
    /// Validates the request.
    ///
    /// # Errors
    ///
    /// If the role is unknown, or [`TokenRequest::checked`] fails.
    pub fn checked(&self) -> Result<TokenRequest, String> {
        let role = Role::of_name(&self.role)
            .ok_or("unknown role: use `user`, `reader`, `writer` or `admin`.")?;
        let (tenant, name) = (self.tenant.clone(), self.name.clone());
        if self.subject.is_none() && !self.roles.is_empty() {
            return Err("roles are those of a user: give --subject.".to_owned());
        }
        let user = self.subject.clone().map(|subject| User::new(subject, self.roles.clone()));
        let request = TokenRequest { role, user, tenant, name, expires: self.expires.map(Time) };
        request.checked().map_err(str::to_owned)
    }
}

impl Operation for CreateToken {
    const NAME: &'static str = "create-token";
    /// JSON, with the token itself, which is not shown again.
    type Answer = serde_json::Value;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Create
    }

    async fn run(self, data: &Data, _: &mut Channel<'_>) -> Result<serde_json::Value, String> {
        let created = data.own_tokens().await?.create(self.checked()?).await;
        let (token, text) = created.map_err(|error| error.to_string())?;
        let mut shown = token.to_json();
        shown["token"] = text.into();
        Ok(shown)
    }
}

/// Copies the tokens that version 0.1 shared among all databases of an account.
#[derive(Debug, Serialize, Deserialize)]
pub struct AdoptTokens {}

impl Operation for AdoptTokens {
    const NAME: &'static str = "adopt-tokens";
    /// How many were copied.
    type Answer = usize;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Write
    }

    async fn run(self, data: &Data, _: &mut Channel<'_>) -> Result<usize, String> {
        data.own_tokens().await?.adopt_shared().await.map_err(|error| error.to_string())
    }
}

/// Lists all tokens, without their secrets.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListTokens {}

impl Operation for ListTokens {
    const NAME: &'static str = "list-tokens";
    type Answer = Vec<serde_json::Value>;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Read
    }

    async fn run(self, data: &Data, _: &mut Channel<'_>) -> Result<Vec<serde_json::Value>, String> {
        let all = data.tokens().await?.list().await.map_err(|error| error.to_string())?;
        Ok(all.iter().map(|token| token.to_json()).collect())
    }
}

/// Revokes a token.
#[derive(Debug, Serialize, Deserialize)]
pub struct RevokeToken {
    /// Its id.
    pub id: String,
}

impl Operation for RevokeToken {
    const NAME: &'static str = "revoke-token";
    /// Whether it existed.
    type Answer = bool;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Write
    }

    async fn run(self, data: &Data, _: &mut Channel<'_>) -> Result<bool, String> {
        data.tokens().await?.revoke(&self.id).await.map_err(|error| error.to_string())
    }
}
