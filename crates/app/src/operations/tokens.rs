//! Who is let in to a server.

use keyloom_server::{Role, TokenRequest};
use keyloom_store::Time;
use serde::{Deserialize, Serialize};

use super::{Data, Operation, Talk};
use crate::directory::Use;

/// Creates a token.
#[derive(Debug, Serialize, Deserialize)]
pub struct CreateToken {
    /// What it allows.
    pub role: String,
    /// Whose data it is for; everybody's if none is named.
    pub tenant: Option<String>,
    /// What it is for.
    pub name: String,
    /// From when on it is not valid any more, in milliseconds since 1970.
    pub expires: Option<u64>,
}

impl CreateToken {
    /// The request, if there can be such a token.
    ///
    /// # Errors
    ///
    /// If there cannot.
    pub fn checked(&self) -> Result<TokenRequest, String> {
        let role = Role::of_name(&self.role).ok_or("there is no such role.")?;
        let (tenant, name) = (self.tenant.clone(), self.name.clone());
        let request = TokenRequest { role, tenant, name, expires: self.expires.map(Time) };
        request.checked().map_err(str::to_owned)
    }
}

impl Operation for CreateToken {
    const NAME: &'static str = "create-token";
    /// JSON; the one time that the token itself is told.
    type Answer = serde_json::Value;

    fn used(&self) -> Use {
        Use::Create
    }

    async fn run(self, data: &Data, _: &mut Talk<'_>) -> Result<serde_json::Value, String> {
        let created = data.tokens().await?.create(self.checked()?).await;
        let (token, text) = created.map_err(|error| error.to_string())?;
        let mut shown = token.to_json();
        shown["token"] = text.into();
        Ok(shown)
    }
}

/// Lists all tokens, without their secrets.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListTokens {}

impl Operation for ListTokens {
    const NAME: &'static str = "list-tokens";
    type Answer = Vec<serde_json::Value>;

    fn used(&self) -> Use {
        Use::Read
    }

    async fn run(self, data: &Data, _: &mut Talk<'_>) -> Result<Vec<serde_json::Value>, String> {
        let all = data.tokens().await?.list().await.map_err(|error| error.to_string())?;
        Ok(all.iter().map(|token| token.to_json()).collect())
    }
}

/// Revokes a token.
#[derive(Debug, Serialize, Deserialize)]
pub struct RevokeToken {
    /// Which one.
    pub id: String,
}

impl Operation for RevokeToken {
    const NAME: &'static str = "revoke-token";
    /// Whether there was one.
    type Answer = bool;

    fn used(&self) -> Use {
        Use::Change
    }

    async fn run(self, data: &Data, _: &mut Talk<'_>) -> Result<bool, String> {
        data.tokens().await?.revoke(&self.id).await.map_err(|error| error.to_string())
    }
}
