//! Who is asking, and what they may do.

use hyper::Method;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use keyloom::{Db, Value};
use keyloom_model::{Entity, EntityId, FieldType, Model};

use super::operation::{Access, Operation};
use super::problem::{Kind, Problem};
use super::token::Token;
use super::tokens::Tokens;
use crate::http::host::is_loopback;

/// The header that says whose data a request is about, where the token does not.
pub(crate) const TENANT: HeaderName = HeaderName::from_static("keyloom-tenant");

/// The cookie that can hold a token.
const TOKEN_COOKIE: &str = "keyloom_token";
/// The parameter of streams that can hold a token.
const TOKEN_PARAMETER: &str = "access_token";

/// What a token allows. Each role may do what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads.
    Reader,
    /// Changes data.
    Writer,
    /// Makes tokens, and sees measurements.
    Admin,
}

impl Role {
    /// All roles, the least first.
    pub const ALL: [Role; 3] = [Role::Reader, Role::Writer, Role::Admin];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Admin => "admin",
        }
    }

    /// The role of a name.
    pub fn of_name(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Whoever made a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The id of the token; none where anybody is let in.
    pub(crate) token: Option<String>,
    pub(crate) role: Role,
    /// Whose data the request is about, if that was said.
    pub(crate) tenant: Option<String>,
    /// Whether the token itself is of one tenant.
    pub(crate) is_bound: bool,
}

impl Caller {
    /// Whoever runs the server.
    pub(crate) fn owner(tenant: Option<&str>) -> Caller {
        let tenant = tenant.map(str::to_owned);
        Caller { token: None, role: Role::Admin, tenant, is_bound: false }
    }

    /// Whoever uses what anybody may, without a token.
    pub(super) fn nobody() -> Caller {
        Caller { token: None, role: Role::Reader, tenant: None, is_bound: false }
    }

    /// Somebody, where no token is asked for.
    fn anybody(headers: &HeaderMap) -> Result<Caller, Problem> {
        let tenant = tenant_header(headers)?;
        Ok(Caller { token: None, role: Role::Admin, tenant, is_bound: false })
    }

    fn of_token(token: Token, headers: &HeaderMap) -> Result<Caller, Problem> {
        let asked = tenant_header(headers)?;
        let is_bound = token.tenant.is_some();
        if is_bound && asked.is_some() && asked != token.tenant {
            let detail = "The token is of one tenant, and `Keyloom-Tenant` names another: leave \
                          the header out.";
            return Err(Problem::new(Kind::Forbidden, detail));
        }
        let tenant = token.tenant.or(asked);
        Ok(Caller { token: Some(token.id), role: token.role, tenant, is_bound })
    }

    /// The database as this caller sees it.
    pub(crate) fn db(&self, db: &Db, model: &Model) -> Db {
        match &self.tenant {
            None => db.clone(),
            Some(tenant) => db.tenant(tenant_value(model, tenant)),
        }
    }

    /// Makes sure that the caller may do something.
    pub(crate) fn check(&self, operation: &Operation, model: &Model) -> Result<(), Problem> {
        let Access::Role(needed) = operation.access() else { return Ok(()) };
        self.check_role(needed)?;
        if let Some(entity) = operation.action.entity() {
            self.check_jobs(model, entity)?;
        }
        match operation.changes() {
            Some(entity) => self.check_change(model.entity(entity)),
            None => Ok(()),
        }
    }

    pub(crate) fn check_role(&self, needed: Role) -> Result<(), Problem> {
        if self.role >= needed {
            return Ok(());
        }
        let (needed, has) = (needed.name(), self.role.name());
        let detail = format!("This needs the role `{needed}`, and the token has `{has}`.");
        Err(Problem::new(Kind::Forbidden, detail))
    }

    /// Jobs carry the data of all tenants: they are for whoever runs the service.
    pub(crate) fn check_jobs(&self, model: &Model, entity: EntityId) -> Result<(), Problem> {
        if model.jobs() != Some(entity) {
            return Ok(());
        }
        self.check_role(Role::Admin)?;
        match self.is_bound {
            false => Ok(()),
            true => {
                let detail = "Jobs are of all tenants, and the token is of one: use a token \
                              without a tenant.";
                Err(Problem::new(Kind::Forbidden, detail))
            }
        }
    }

    /// What all tenants share is not one tenant's to change.
    pub(crate) fn check_change(&self, entity: &Entity) -> Result<(), Problem> {
        self.check_role(Role::Writer)?;
        if !self.is_bound || entity.has_tenant() {
            return Ok(());
        }
        let detail = format!(
            "All tenants share `{}`, and the token is of one: use a token without a tenant.",
            entity.name
        );
        Err(Problem::new(Kind::Forbidden, detail))
    }
}

/// A request of whoever runs the server, made by the program itself: an extension of the request,
/// which no client can give it.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) tenant: Option<String>,
}

/// The token that a request shows. Where a browser cannot send the header, which is so for event
/// streams and what a page links to, it may be a cookie of a request that changes nothing (pages of
/// other sites can make a browser send a cookie, but not see the answer); of a stream, also the
/// parameter `access_token`.
pub(super) fn credential(
    operation: &Operation,
    head: &Parts,
    parameters: &mut Vec<(String, String)>,
) -> Result<Option<String>, Problem> {
    let mut in_query = None;
    if operation.action.is_stream() {
        let place = parameters.iter().position(|(name, _)| name == TOKEN_PARAMETER);
        in_query = place.map(|place| parameters.remove(place).1);
    }
    if let Some(token) = bearer(&head.headers)? {
        return Ok(Some(token.to_owned()));
    }
    let is_safe = [Method::GET, Method::HEAD].contains(&head.method);
    let in_cookie = if is_safe { cookie(&head.headers) } else { None };
    Ok(in_query.or(in_cookie))
}

/// Finds out who is asking. Without tokens, whoever reaches this machine's own address is let in.
pub(super) async fn identify(
    tokens: &Tokens,
    given: Option<String>,
    headers: &HeaderMap,
) -> Result<Caller, Problem> {
    if tokens.is_open() {
        check_host(headers)?;
        return Caller::anybody(headers);
    }
    let Some(given) = given else {
        let detail = "Give a token: `Authorization: Bearer ...`. `keyloom token create` makes one.";
        return Err(Problem::new(Kind::Unauthorized, detail));
    };
    match tokens.find(&given).await? {
        Some(token) => Caller::of_token(token, headers),
        None => {
            let detail = "The token is not valid, or not any more: ask whoever runs the server \
                          for another.";
            Err(Problem::new(Kind::Unauthorized, detail))
        }
    }
}

/// A page of another site can make a browser send requests here under that site's name.
fn check_host(headers: &HeaderMap) -> Result<(), Problem> {
    if is_loopback(headers) {
        return Ok(());
    }
    let detail = "Without tokens only this machine is served, under `localhost` or its loopback \
                  address: make a token to be served under a name.";
    Err(Problem::new(Kind::WrongHost, detail))
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().unwrap_or_default(),
        (Some(_), Some(_)) => {
            let detail = "`Authorization` is given twice: show one token.";
            return Err(Problem::new(Kind::Unauthorized, detail));
        }
    };
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => {
            let detail = "`Authorization` is not `Bearer` and a token.";
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

fn tenant_header(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(TENANT).iter();
    let refuse = |detail: &str| Err(Problem::new(Kind::BadHeader, detail));
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => refuse("`Keyloom-Tenant` is given twice: name one tenant."),
        (Some(value), None) => match std::str::from_utf8(value.as_bytes()) {
            Ok(tenant) => Ok(Some(tenant.to_owned())),
            Err(_) => refuse("`Keyloom-Tenant` is not UTF-8: write the tenant in UTF-8."),
        },
    }
}

/// A tenant as the model's tenant fields have it: a number where they are numbers.
fn tenant_value(model: &Model, tenant: &str) -> Value {
    let mut fields = model.entities().filter_map(|(id, _)| model.tenant_field(id));
    let is_number = fields.any(|field| matches!(field.of, FieldType::Int(_)));
    match tenant.parse::<i64>() {
        Ok(number) if is_number => Value::from(number),
        Ok(_) | Err(_) => Value::from(tenant),
    }
}
