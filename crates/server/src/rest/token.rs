//! Tokens: what a client sends to authenticate, and what is stored of it.
//!
//! ```text
//! kl_<id: 16 characters>_<secret: 52 characters>      characters of a-z 2-7
//! ```
//!
//! Only the SHA-256 of the secret is stored. A secret is 32 random bytes, so a slow hash is not needed
//! against guessing.

use std::collections::BTreeSet;

use keyloom::{Entropy, Item, User, Value};
use keyloom_model::FieldType;
use keyloom_store::Time;
use ring::digest::{SHA256, digest};
use serde_json::{Value as Json, json};

use super::role::Role;

const PREFIX: &str = "kl_";
const ID_BYTES: usize = 10;
const SECRET_BYTES: usize = 32;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The attributes of a token's row.
pub(super) const ID: &str = "id";
const HASH: &str = "hash";
const ROLE: &str = "role";
const SUBJECT: &str = "subject";
const ROLES: &str = "roles";
const TENANT: &str = "tenant";
const NAME: &str = "name";
const CREATED: &str = "created";
const EXPIRES: &str = "expires";

/// A stored token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// The user that it is of, if its role is [`Role::User`].
    pub user: Option<User>,
    /// The tenant that it is limited to; all tenants if `None`.
    pub tenant: Option<String>,
    /// Its purpose.
    pub name: String,
    /// When it was created.
    pub created: Time,
    /// When it expires.
    pub expires: Option<Time>,
    hash: Vec<u8>,
}

/// A request to create a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    /// Its role.
    pub role: Role,
    /// The user that it is of: required for [`Role::User`], and for no other role.
    pub user: Option<User>,
    /// The tenant that it is limited to; all tenants if `None`.
    pub tenant: Option<String>,
    /// Its purpose.
    pub name: String,
    /// When it expires.
    pub expires: Option<Time>,
}

impl TokenRequest {
    /// Validates the request.
    ///
    /// # Errors
    ///
    /// If a text is too long, the tenant is empty, a user is missing or given without need, or an admin would be limited to one tenant: it could
    /// create tokens of others.
    pub fn checked(self) -> Result<TokenRequest, &'static str> {
        let length = |text: &String| text.chars().count();
        if self.tenant.as_ref().is_some_and(|tenant| !(1..=256).contains(&length(tenant))) {
            return Err("`tenant` must have 1 to 256 characters.");
        }
        if length(&self.name) > 256 {
            return Err("`name` must have at most 256 characters.");
        }
        if self.role == Role::Admin && self.tenant.is_some() {
            return Err(
                "An admin token cannot be limited to a tenant: omit the tenant, or choose \
                        another role.",
            );
        }
        match &self.user {
            None if self.role == Role::User => {
                Err("A token with the role `user` needs a subject, which identifies the user.")
            }
            Some(_) if self.role != Role::User => {
                Err("A subject and roles are for tokens with the role `user`: omit them, or \
                     choose that role.")
            }
            Some(user) if !(1..=256).contains(&length(&user.subject)) => {
                Err("`subject` must have 1 to 256 characters.")
            }
            Some(user)
                if user.roles.len() > ROLES_MAX || user.roles.iter().any(|role| is_unfit(role)) =>
            {
                Err("`roles` can have up to 50 roles, each with 1 to 60 characters; `reader`, \
                     `writer` and `admin` are roles of tokens.")
            }
            Some(_) | None => Ok(self),
        }
    }
}

/// Maximum number of roles of a user.
const ROLES_MAX: usize = 50;

/// Whether a text cannot be a role of a user.
fn is_unfit(role: &str) -> bool {
    !(1..=60).contains(&role.chars().count()) || Role::of_name(role).is_some()
}

impl Token {
    /// The token as JSON, without its secret.
    pub fn to_json(&self) -> Json {
        let time = |time: Time| {
            FieldType::Time.to_external(&Value::from(time.0)).as_s().map(str::to_owned)
        };
        let mut shown = json!({
            "id": self.id,
            "name": self.name,
            "role": self.role.name(),
            "created": time(self.created),
        });
        if let Some(user) = &self.user {
            shown["subject"] = json!(user.subject);
            shown["roles"] = json!(user.roles);
        }
        if let Some(tenant) = &self.tenant {
            shown["tenant"] = json!(tenant);
        }
        if let Some(expires) = self.expires {
            shown["expires"] = json!(time(expires));
        }
        shown
    }
}

impl Token {
    /// Creates a token. Also returns its text, which is shown once.
    pub(super) fn make(
        request: TokenRequest,
        created: Time,
        entropy: &dyn Entropy,
    ) -> std::io::Result<(Token, String)> {
        let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
        entropy.fill(&mut id)?;
        entropy.fill(&mut secret)?;
        let (id, secret) = (letters(&id), letters(&secret));
        let text = format!("{PREFIX}{id}_{secret}");
        Ok((Token::known(&id, &secret, request, created), text))
    }

    /// A token with a known text.
    pub(super) fn known(id: &str, secret: &str, request: TokenRequest, created: Time) -> Token {
        let TokenRequest { role, user, tenant, name, expires } = request;
        Token { id: id.to_owned(), role, user, tenant, name, created, expires, hash: hash(secret) }
    }

    /// Whether a secret is that of this token, and the token has not expired.
    pub(super) fn admits(&self, secret: &str, now: Time) -> bool {
        self.is_secret(secret) && !self.has_expired(now)
    }

    pub(super) fn has_expired(&self, now: Time) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether a secret is that of this token.
    pub(super) fn is_secret(&self, secret: &str) -> bool {
        same(&hash(secret), &self.hash)
    }

    pub(super) fn to_item(&self) -> Item {
        let mut item = Item::new();
        item.insert(ID, self.id.as_str());
        item.insert(HASH, Value::B(self.hash.clone()));
        item.insert(ROLE, self.role.name());
        item.insert(NAME, self.name.as_str());
        item.insert(CREATED, self.created.0);
        if let Some(user) = &self.user {
            item.insert(SUBJECT, user.subject.as_str());
            let roles = user.roles.iter().map(|role| Value::from(role.as_str()));
            item.insert(ROLES, Value::L(roles.collect()));
        }
        if let Some(tenant) = &self.tenant {
            item.insert(TENANT, tenant.as_str());
        }
        if let Some(expires) = self.expires {
            item.insert(EXPIRES, expires.0);
        }
        item
    }

    /// The token of a row. A damaged row is none, so it admits nobody.
    pub(super) fn from_item(item: &Item) -> Option<Token> {
        let text = |name: &str| item.get(name).and_then(Value::as_s).map(str::to_owned);
        let time = |name: &str| {
            let ms = item.get(name).and_then(Value::as_n).and_then(|number| number.to_i64());
            ms.and_then(|ms| u64::try_from(ms).ok()).map(Time)
        };
        if item.contains(EXPIRES) && time(EXPIRES).is_none() {
            return None;
        }
        if item.contains(TENANT) && text(TENANT).is_none() {
            return None;
        }
        let role = Role::of_name(&text(ROLE)?)?;
        let user = match role {
            Role::User => Some(User { subject: text(SUBJECT)?, roles: texts(item.get(ROLES)?)? }),
            Role::Reader | Role::Writer | Role::Admin => None,
        };
        Some(Token {
            id: text(ID)?,
            role,
            user,
            tenant: text(TENANT),
            name: text(NAME)?,
            created: time(CREATED)?,
            expires: time(EXPIRES),
            hash: item.get(HASH)?.as_b()?.to_vec(),
        })
    }
}

fn texts(list: &Value) -> Option<BTreeSet<String>> {
    let Value::L(texts) = list else { return None };
    texts.iter().map(|text| text.as_s().map(str::to_owned)).collect()
}

/// The id and the secret of a text that looks like a token.
pub(super) fn parts(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    (is_id(id) && secret.len() < 100).then_some((id, secret))
}

/// The id and the secret of a text that has exactly the form of a token.
pub(super) fn whole_parts(text: &str) -> Option<(&str, &str)> {
    let is_whole = |secret: &str| is_of_letters(secret, (SECRET_BYTES * 8).div_ceil(5));
    parts(text).filter(|(_, secret)| is_whole(secret))
}

/// Whether a text could be the id of a token.
pub(super) fn is_id(text: &str) -> bool {
    is_of_letters(text, ID_BYTES * 8 / 5)
}

fn is_of_letters(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

fn hash(secret: &str) -> Vec<u8> {
    digest(&SHA256, secret.as_bytes()).as_ref().to_vec()
}

/// Compares in constant time. Hashes are compared, so the time would reveal no secret anyway.
fn same(left: &[u8], right: &[u8]) -> bool {
    let differences = left.iter().zip(right).fold(0, |sum, (left, right)| sum | (left ^ right));
    left.len() == right.len() && differences == 0
}

/// Encodes bytes in base 32: five bits per letter.
fn letters(bytes: &[u8]) -> String {
    let (mut text, mut bits, mut count) = (String::new(), 0u32, 0);
    for byte in bytes {
        bits = (bits << 8) | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            text.push(char::from(ALPHABET[(bits >> count) as usize & 31]));
        }
        bits &= (1 << count) - 1;
    }
    if count > 0 {
        text.push(char::from(ALPHABET[(bits << (5 - count)) as usize & 31]));
    }
    text
}
