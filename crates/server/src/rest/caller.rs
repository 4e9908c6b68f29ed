//! The caller of a request: its role, its tenant, and what they allow.

use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderName};
use keyloom::{Db, User, Value};
use keyloom_model::{Entity, EntityId, FieldType, Model};
use keyloom_store::Time;

use super::issuers::Identity;
use super::problem::{Kind, Problem};
use super::role::Role;
use super::token::Token;

/// The header that names the tenant of a request, unless the token does.
pub(crate) const TENANT: HeaderName = HeaderName::from_static("keyloom-tenant");

/// The caller of a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The id of the token; `None` if the request needed none.
    pub(crate) token: Option<String>,
    pub(crate) role: Role,
    /// The tenant whose data the request sees, if one was named.
    pub(crate) tenant: Option<String>,
    /// Whether the token is limited to one tenant.
    pub(crate) is_bound: bool,
    /// The user whom the access rules of the model limit.
    pub(crate) user: Option<Arc<User>>,
    /// When the token expires.
    pub(crate) expires: Option<Time>,
}

impl Caller {
    fn unlimited(role: Role, tenant: Option<String>) -> Caller {
        Caller { token: None, role, tenant, is_bound: false, user: None, expires: None }
    }

    /// The operator of the server.
    pub(crate) fn operator(tenant: Option<&str>) -> Caller {
        Caller::unlimited(Role::Admin, tenant.map(str::to_owned))
    }

    /// The caller of a public operation, which needs no token.
    pub(super) fn anonymous() -> Caller {
        Caller::unlimited(Role::Reader, None)
    }

    /// A caller on a server without tokens.
    pub(super) fn without_tokens(headers: &HeaderMap) -> Result<Caller, Problem> {
        Ok(Caller::unlimited(Role::Admin, tenant_header(headers)?))
    }

    /// The caller with a valid token.
    pub(super) fn with_token(token: Token, headers: &HeaderMap) -> Result<Caller, Problem> {
        let requested = tenant_header(headers)?;
        let is_bound = token.tenant.is_some();
        // A user belongs to the tenant that the token names, or to none.
        let is_fixed = is_bound || token.user.is_some();
        if is_fixed && requested.is_some() && requested != token.tenant {
            let detail = "The token is limited to one tenant, and `Keyloom-Tenant` names another: \
                          omit the header.";
            return Err(Problem::new(Kind::Forbidden, detail));
        }
        let tenant = token.tenant.or(requested);
        let (user, expires) = (token.user.map(Arc::new), token.expires);
        Ok(Caller { token: Some(token.id), role: token.role, tenant, is_bound, user, expires })
    }

    /// The user of an identity provider. The token alone names their tenant, unless they are an admin.
    pub(super) fn with_identity(
        identity: Identity,
        headers: &HeaderMap,
    ) -> Result<Caller, Problem> {
        let Identity { user, tenant, expires } = identity;
        let has = |role: Role| user.roles.contains(role.name());
        let role = [Role::Admin, Role::Writer, Role::Reader].into_iter().find(|role| has(*role));
        let role = role.unwrap_or(Role::User);
        let requested = tenant_header(headers)?;
        // Admins manage all tenants.
        let (tenant, is_bound) = match role {
            Role::Admin => (requested.or(tenant), false),
            Role::User | Role::Reader | Role::Writer
                if requested.is_some() && requested != tenant =>
            {
                let detail = "The token does not belong to the tenant that `Keyloom-Tenant` names: \
                              omit the header.";
                return Err(Problem::new(Kind::Forbidden, detail));
            }
            Role::User | Role::Reader | Role::Writer => {
                let is_bound = tenant.is_some();
                (tenant, is_bound)
            }
        };
        let (user, expires) = (Some(Arc::new(user)), Some(expires));
        Ok(Caller { token: None, role, tenant, is_bound, user, expires })
    }

    /// The database as this caller sees it.
    pub(crate) fn db(&self, db: &Db, model: &Model) -> Db {
        let db = match &self.tenant {
            None => db.clone(),
            Some(tenant) => db.tenant(tenant_value(model, tenant)),
        };
        match &self.user {
            None => db,
            Some(user) => db.user((**user).clone()),
        }
    }

    /// As [`Caller::check_role`], for operations whose data access rules protect: users may try.
    pub(super) fn check_data_role(&self, needed: Role) -> Result<(), Problem> {
        match self.user {
            Some(_) => Ok(()),
            None => self.check_role(needed),
        }
    }

    pub(crate) fn check_role(&self, needed: Role) -> Result<(), Problem> {
        if self.role >= needed {
            return Ok(());
        }
        let (needed, has) = (needed.name(), self.role.name());
        let detail = format!("This requires the role `{needed}`; the token has the role `{has}`.");
        Err(Problem::new(Kind::Forbidden, detail))
    }

    /// What a plan reads and how large that is can be other people's: it is not for users.
    pub(crate) fn check_explained(&self, needed: Role) -> Result<(), Problem> {
        if self.role >= needed {
            return Ok(());
        }
        let needed = needed.name();
        let detail = format!("Explaining requires the role `{needed}`: omit `explain`.");
        Err(Problem::new(Kind::Forbidden, detail))
    }

    /// Jobs contain data of all tenants, so only an admin that is limited to none can see them.
    pub(crate) fn check_jobs(&self, model: &Model, entity: EntityId) -> Result<(), Problem> {
        if model.jobs() != Some(entity) {
            return Ok(());
        }
        self.check_role(Role::Admin)?;
        match self.is_bound {
            false => Ok(()),
            true => {
                let detail = "Jobs belong to all tenants, and the token is limited to one: use a \
                              token without a tenant.";
                Err(Problem::new(Kind::Forbidden, detail))
            }
        }
    }

    /// Data that all tenants share cannot be changed by one of them.
    pub(crate) fn check_change(&self, entity: &Entity) -> Result<(), Problem> {
        self.check_data_role(Role::Writer)?;
        if !self.is_bound || entity.has_tenant() {
            return Ok(());
        }
        let detail = format!(
            "All tenants share `{}`, and the token is limited to one: use a token without a tenant.",
            entity.name
        );
        Err(Problem::new(Kind::Forbidden, detail))
    }
}

fn tenant_header(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(TENANT).iter();
    let refuse = |detail: &str| Err(Problem::new(Kind::BadHeader, detail));
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => refuse("`Keyloom-Tenant` is given twice: name one tenant."),
        (Some(value), None) => match std::str::from_utf8(value.as_bytes()) {
            Ok(tenant) => Ok(Some(tenant.to_owned())),
            Err(_) => refuse("`Keyloom-Tenant` is not UTF-8: encode the tenant in UTF-8."),
        },
    }
}

/// A tenant as a value of the model's tenant fields: a number if they are numbers. Each number has one text:
/// nobody gets into the tenant `7` by the name `07`.
fn tenant_value(model: &Model, tenant: &str) -> Value {
    let mut fields = model.entities().filter_map(|(id, _)| model.tenant_field(id));
    let is_number = fields.any(|field| matches!(field.of, FieldType::Int(_)));
    match tenant.parse::<i64>() {
        Ok(number) if is_number && number.to_string() == tenant => Value::from(number),
        Ok(_) | Err(_) => Value::from(tenant),
    }
}
