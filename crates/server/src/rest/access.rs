//! Authentication and authorization: who sends a request, and whether they may.

use hyper::Method;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap};
use hyper::http::request::Parts;
use keyloom_model::Model;

use super::caller::Caller;
use super::issuers::Unidentified;
use super::operation::{Access, Operation};
use super::problem::{Kind, Problem};
use super::reserved::{LIVE, shown};
use super::tokens::{Bearer, Tokens};
use crate::http::host::is_loopback;

/// The cookie that can hold a token.
const TOKEN_COOKIE: &str = "keyloom_token";
/// The query parameter of streams that can hold a token.
const TOKEN_PARAMETER: &str = "access_token";

/// Marks a request that the program itself makes on behalf of the operator: an extension of the
/// request, which no client can set.
#[derive(Clone, Debug)]
pub(super) struct OperatorRequest {
    pub(super) tenant: Option<String>,
}

/// Checks that a caller may run an operation.
pub(super) fn check(caller: &Caller, operation: &Operation, model: &Model) -> Result<(), Problem> {
    match operation.access() {
        Access::Public => return Ok(()),
        Access::Role(needed) => caller.check_role(needed)?,
        Access::Data(needed) => caller.check_data_role(needed)?,
    }
    if let Some(entity) = operation.action.entity() {
        caller.check_jobs(model, entity)?;
    }
    match operation.changes() {
        Some(entity) => caller.check_change(model.entity(entity)),
        None => Ok(()),
    }
}

/// The token of a request. Browsers cannot send the header for event streams and for what a page links
/// to; there the token can be in a cookie of a request that changes nothing (pages of other sites can
/// make a browser send the cookie, but cannot read the response), and for a stream also in the
/// parameter `access_token`.
pub(super) fn credential(
    operation: &Operation,
    head: &Parts,
    parameters: &mut Vec<(String, String)>,
) -> Result<Option<String>, Problem> {
    let mut in_query = None;
    if operation.action.is_stream() || is_live(operation, parameters) {
        let index = parameters.iter().position(|(name, _)| name == TOKEN_PARAMETER);
        in_query = index.map(|index| parameters.remove(index).1);
    }
    if let Some(token) = bearer(&head.headers)? {
        return Ok(Some(token.to_owned()));
    }
    let is_safe = [Method::GET, Method::HEAD].contains(&head.method);
    let in_cookie = if is_safe { cookie(&head.headers) } else { None };
    Ok(in_query.or(in_cookie))
}

/// Whether the result of a query is requested as a stream.
fn is_live(operation: &Operation, parameters: &[(String, String)]) -> bool {
    let is_wish = |name: &str| name == LIVE || name == shown(LIVE);
    operation.action.is_query() && parameters.iter().any(|(name, _)| is_wish(name))
}

/// Identifies the caller. On a server without tokens, every loopback request is accepted.
pub(super) async fn identify(
    tokens: &Tokens,
    given: Option<String>,
    headers: &HeaderMap,
) -> Result<Caller, Problem> {
    if tokens.is_open() {
        check_host(headers)?;
        return Caller::without_tokens(headers);
    }
    let Some(given) = given else {
        let detail = "Send a token as `Authorization: Bearer TOKEN`. Create one with `keyloom token \
                      create`.";
        return Err(Problem::new(Kind::Unauthorized, detail));
    };
    match tokens.identify(&given).await? {
        Bearer::Token(token) => Caller::with_token(token, headers),
        Bearer::User(identity) => Caller::with_identity(identity, headers),
        Bearer::Unknown(Unidentified::Invalid(why)) => {
            let detail = format!("The token is invalid. {why}");
            Err(Problem::new(Kind::Unauthorized, detail))
        }
        Bearer::Unknown(Unidentified::NoKeys { issuer, cause }) => {
            let detail =
                format!("The keys of the issuer `{issuer}` cannot be fetched: retry later.");
            Err(Problem::new(Kind::Busy, detail).with_cause(cause))
        }
    }
}

/// A page of another site can make a browser send requests here under that site's name.
fn check_host(headers: &HeaderMap) -> Result<(), Problem> {
    if is_loopback(headers) {
        return Ok(());
    }
    let detail = "Without tokens, the server accepts only requests to `localhost` or a loopback \
                  address. Create a token to serve other host names.";
    Err(Problem::new(Kind::WrongHost, detail))
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().unwrap_or_default(),
        (Some(_), Some(_)) => {
            let detail = "`Authorization` is given twice: send one token.";
            return Err(Problem::new(Kind::Unauthorized, detail));
        }
    };
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => {
            let detail = "`Authorization` must be `Bearer` followed by a token.";
            Err(Problem::new(Kind::Unauthorized, detail))
        }
    }
}

/// The token in a cookie.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        values.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, token) = pairs.find(|(name, _)| name.trim() == TOKEN_COOKIE)?;
    Some(token.trim().to_owned())
}
