//! Tokens over HTTP: made, listed, revoked.

use hyper::StatusCode;
use keyloom::{Item, Value};
use keyloom_model::FieldType;
use keyloom_store::Time;
use serde_json::{Value as Json, json};

use super::access::Role;
use super::call::{Call, Reply, cut};
use super::problem::{Kind, Problem};
use super::token::{Token, TokenRequest};
use super::tokens::Tokens;

pub(super) async fn list(call: &Call, tokens: &Tokens) -> Result<Reply, Problem> {
    check(call)?;
    let all: Vec<Json> = tokens.list().await?.iter().map(Token::to_json).collect();
    Ok(Reply::json(StatusCode::OK, json!({ "items": all }).to_string()))
}

pub(super) async fn create(call: &Call, tokens: &Tokens) -> Result<Reply, Problem> {
    check(call)?;
    let request = request(call.document()?)?;
    let (token, text) = tokens.create(request).await?;
    let mut shown = token.to_json();
    shown["token"] = json!(text);
    let reply = Reply::json(StatusCode::CREATED, shown.to_string());
    Ok(reply.at(format!("/tokens/{}", token.id)))
}

pub(super) async fn revoke(call: &Call, tokens: &Tokens) -> Result<Reply, Problem> {
    check(call)?;
    let id = call.value(0);
    match tokens.revoke(id).await? {
        true => Ok(Reply::empty(StatusCode::NO_CONTENT)),
        false => {
            let detail = format!("There is no token with the id `{}`.", cut(id));
            Err(Problem::new(Kind::NotFound, detail))
        }
    }
}

/// Whoever is of one tenant has no say about the tokens of others.
fn check(call: &Call) -> Result<(), Problem> {
    call.check_parameters(&[])?;
    if call.caller.is_bound {
        let detail = "The token is of one tenant: use an admin's token without a tenant.";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    Ok(())
}

impl Token {
    /// What can be shown of it again and again.
    pub fn to_json(&self) -> Json {
        let time =
            |time: Time| FieldType::Time.show(&Value::from(time.0)).as_s().map(str::to_owned);
        let mut shown = json!({
            "id": self.id,
            "name": self.name,
            "role": self.role.name(),
            "created": time(self.created),
        });
        if let Some(tenant) = &self.tenant {
            shown["tenant"] = json!(tenant);
        }
        if let Some(expires) = self.expires {
            shown["expires"] = json!(time(expires));
        }
        shown
    }
}

/// `{"name": ..., "role": ..., "tenant": ..., "expires": ...}`, the last two if wanted.
fn request(mut document: Item) -> Result<TokenRequest, Problem> {
    let invalid = |detail: String| Problem::new(Kind::Invalid, detail);
    let mut text = |name: &str| match document.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::S(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(format!("`{name}` is a text."))),
    };
    let (name, role) = (text("name")?.unwrap_or_default(), text("role")?);
    let (tenant, expires) = (text("tenant")?, text("expires")?);
    if let Some(name) = document.names().next() {
        let detail = format!(
            "There is no `{}`: a token has `name`, `role`, `tenant` and `expires`.",
            cut(name.as_str())
        );
        return Err(invalid(detail));
    }
    let role = role.as_deref().and_then(Role::of_name).ok_or_else(|| {
        invalid(format!("`role` is one of `{}`.", Role::ALL.map(Role::name).join("`, `")))
    })?;
    let expires = expires.map(|text| time(&text)).transpose()?;
    TokenRequest { role, tenant, name, expires }.checked().map_err(|detail| invalid(detail.into()))
}

fn time(text: &str) -> Result<Time, Problem> {
    let ms = FieldType::Time.take(&Value::from(text));
    // A moment before 1970 is as good as its start: it is over.
    let ms = ms.as_n().and_then(|ms| ms.to_i64()).map(|ms| u64::try_from(ms).unwrap_or_default());
    let detail = "`expires` is a time such as `2030-01-01T00:00:00Z`.";
    ms.map(Time).ok_or_else(|| Problem::new(Kind::Invalid, detail))
}
