//! `GET /tokens`: all tokens.

use hyper::{Method, StatusCode};
use keyloom_model::Model;
use serde_json::{Value as Json, json};

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, token_list};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::super::token::Token;
use super::super::tokens::Tokens;

#[derive(Debug)]
struct ListTokens;

pub(super) fn list_tokens() -> Operation {
    Operation::new("list_tokens".to_owned(), Method::GET, Segment::path("/tokens"), ListTokens)
}

impl Action for ListTokens {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn describe(&self, _: &Model) -> Description {
        Description {
            answers: vec![Answer::json(200, "All tokens.", token_list())],
            problems: vec![Kind::BadParameter],
            ..Description::new(Group::Tokens, "List all tokens")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.tokens))
    }
}

async fn run(call: &Call, tokens: &Tokens) -> Result<Reply, Problem> {
    check(call)?;
    let all: Vec<Json> = tokens.list().await?.iter().map(Token::to_json).collect();
    Ok(Reply::json(StatusCode::OK, json!({ "items": all }).to_string()))
}

/// Rejects tokens that are limited to one tenant: they cannot manage tokens.
pub(super) fn check(call: &Call) -> Result<(), Problem> {
    call.check_parameters(&[])?;
    check_unbound(call)
}

/// Rejects tokens that are limited to one tenant.
pub(super) fn check_unbound(call: &Call) -> Result<(), Problem> {
    if call.caller.is_bound {
        let detail = "The token is limited to one tenant: use an admin token without a tenant.";
        return Err(Problem::new(Kind::Forbidden, detail));
    }
    Ok(())
}
