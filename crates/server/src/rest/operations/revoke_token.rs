//! `DELETE /tokens/{id}`: revokes a token.

use hyper::{Method, StatusCode};
use keyloom_model::Model;

use super::super::call::{Call, Reply, cut};
use super::super::openapi::{Answer, Description, Group};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::super::tokens::Tokens;
use super::list_tokens::check;

#[derive(Debug)]
struct RevokeToken;

pub(super) fn revoke_token() -> Operation {
    let path = Segment::path("/tokens/{id}");
    Operation::new("revoke_token".to_owned(), Method::DELETE, path, RevokeToken)
}

impl Action for RevokeToken {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn describe(&self, _: &Model) -> Description {
        Description {
            answers: vec![Answer::empty(204, "Revoked.")],
            problems: vec![Kind::BadParameter, Kind::NotFound],
            ..Description::new(Group::Tokens, "Revoke a token")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.tokens))
    }
}

async fn run(call: &Call, tokens: &Tokens) -> Result<Reply, Problem> {
    check(call)?;
    let id = call.value(0);
    match tokens.revoke(id).await? {
        true => Ok(Reply::empty(StatusCode::NO_CONTENT)),
        false => {
            let detail = format!("No token with the id `{}` exists.", cut(id));
            Err(Problem::new(Kind::NotFound, detail))
        }
    }
}
