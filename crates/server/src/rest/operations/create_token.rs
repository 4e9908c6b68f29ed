//! `POST /tokens`: creates a token.

use std::collections::BTreeSet;

use hyper::{Method, StatusCode};
use keyloom::{Item, User, Value};
use keyloom_model::{FieldType, Model};
use keyloom_store::Time;
use serde_json::json;

use super::super::call::{Call, Reply, cut};
use super::super::openapi::{
    Answer, AnswerHeader, BODY, Body, Description, Group, token_made, token_request,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::super::token::TokenRequest;
use super::super::tokens::Tokens;
use super::list_tokens::check;

#[derive(Debug)]
struct CreateToken;

pub(super) fn create_token() -> Operation {
    Operation::new("create_token".to_owned(), Method::POST, Segment::path("/tokens"), CreateToken)
}

impl Action for CreateToken {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn describe(&self, _: &Model) -> Description {
        let details = "The member `token` of the response is shown only once. Once the first token \
                       exists, every request needs one.";
        let example = json!({ "name": "the shop's till", "role": "writer" });
        let created = Answer::json(201, "The token, with its secret.", token_made());
        Description {
            details: vec![details.to_owned()],
            body: Some(Body::json(token_request(), Some(example))),
            answers: vec![created.with(&[AnswerHeader::Location])],
            problems: [BODY, &[Kind::BadParameter, Kind::Invalid]].concat(),
            ..Description::new(Group::Tokens, "Create a token")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.tokens))
    }
}

async fn run(call: &Call, tokens: &Tokens) -> Result<Reply, Problem> {
    check(call)?;
    let request = request(call.document()?)?;
    let (token, text) = tokens.create(request).await?;
    let mut shown = token.to_json();
    shown["token"] = json!(text);
    let reply = Reply::json(StatusCode::CREATED, shown.to_string());
    Ok(reply.at(format!("/tokens/{}", token.id)))
}

/// Parses `{"role": ..., "subject": ..., "roles": [...], "tenant": ..., "name": ..., "expires": ...}`; only
/// `role` is required, and `subject` for users.
fn request(mut document: Item) -> Result<TokenRequest, Problem> {
    let invalid = |detail: String| Problem::new(Kind::Invalid, detail);
    let mut text = |name: &str| match document.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::S(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(format!("`{name}` must be a string."))),
    };
    let (name, role) = (text("name")?.unwrap_or_default(), text("role")?);
    let (tenant, expires, subject) = (text("tenant")?, text("expires")?, text("subject")?);
    let roles = roles(document.remove("roles"))
        .ok_or_else(|| invalid("`roles` must be a list of strings.".to_owned()))?;
    if let Some(name) = document.names().next() {
        let detail = format!(
            "Unknown member `{}`: a token has `name`, `role`, `subject`, `roles`, `tenant` and \
             `expires`.",
            cut(name.as_str())
        );
        return Err(invalid(detail));
    }
    let role = role.as_deref().and_then(Role::of_name).ok_or_else(|| {
        invalid(format!("`role` must be one of `{}`.", Role::ALL.map(Role::name).join("`, `")))
    })?;
    let expires = expires.map(|text| time(&text)).transpose()?;
    if subject.is_none() && !roles.is_empty() {
        return Err(invalid("`roles` are those of a user: give `subject`.".to_owned()));
    }
    let user = subject.map(|subject| User { subject, roles });
    let request = TokenRequest { role, user, tenant, name, expires };
    request.checked().map_err(|detail| invalid(detail.into()))
}

fn roles(given: Option<Value>) -> Option<BTreeSet<String>> {
    match given {
        None | Some(Value::Null) => Some(BTreeSet::new()),
        Some(Value::L(roles)) => {
            roles.into_iter().map(|role| role.as_s().map(str::to_owned)).collect()
        }
        Some(_) => None,
    }
}

fn time(text: &str) -> Result<Time, Problem> {
    let ms = FieldType::Time.to_stored(&Value::from(text));
    // A time before 1970 counts as 1970: both have passed.
    let ms = ms.as_n().and_then(|ms| ms.to_i64()).map(|ms| u64::try_from(ms).unwrap_or_default());
    let detail = "`expires` must be a time such as `2030-01-01T00:00:00Z`.";
    ms.map(Time).ok_or_else(|| Problem::new(Kind::Invalid, detail))
}
