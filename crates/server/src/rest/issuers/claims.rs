//! From the claims of a token to a user.

use std::collections::{BTreeMap, BTreeSet};

use keyloom::User;
use serde_json::{Map, Value as Json};

/// Roles of the server, which a token has only if the operator maps a claim to them.
const BUILT_IN: [&str; 3] = ["reader", "writer", "admin"];
/// Maximum length of a subject and of a tenant, in characters.
const LENGTH_MAX: usize = 256;

/// The claims that describe a user, by name; `realm_access.roles` is a member of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimNames {
    /// The subject.
    pub subject: String,
    /// The tenant that the user belongs to.
    pub tenant: Option<String>,
    /// The roles: a list of texts, or a text with spaces between them.
    pub roles: Option<String>,
}

impl Default for ClaimNames {
    /// `sub`, and no tenant and no roles.
    fn default() -> ClaimNames {
        ClaimNames { subject: "sub".to_owned(), tenant: None, roles: None }
    }
}

/// The claims of a token.
pub(super) type Claims = Map<String, Json>;

impl ClaimNames {
    /// The user that claims describe. `roles` maps values of the claim to roles.
    ///
    /// # Errors
    ///
    /// If there is no subject, or a claim has another type.
    pub(super) fn user(
        &self,
        claims: &Claims,
        roles: &BTreeMap<String, Vec<String>>,
    ) -> Result<User, String> {
        let subject = find(claims, &self.subject).and_then(Json::as_str);
        let Some(subject) = subject.filter(|subject| is_name(subject)) else {
            return Err(format!(
                "Its claim `{}` is not a text of 1 to 256 characters.",
                self.subject
            ));
        };
        let claimed = match &self.roles {
            Some(name) => texts(claims, name)?,
            None => vec![],
        };
        Ok(User { subject: subject.to_owned(), roles: mapped(claimed, roles) })
    }

    /// The tenant that claims name.
    ///
    /// # Errors
    ///
    /// If the claim is missing or is neither a text nor a number.
    pub(super) fn tenant(&self, claims: &Claims) -> Result<Option<String>, String> {
        let Some(name) = &self.tenant else { return Ok(None) };
        let tenant = match find(claims, name) {
            Some(Json::String(tenant)) => Some(tenant.clone()),
            Some(Json::Number(tenant)) => Some(tenant.to_string()),
            _ => None,
        };
        match tenant.filter(|tenant| is_name(tenant)) {
            Some(tenant) => Ok(Some(tenant)),
            None => Err(format!("Its claim `{name}` names no tenant.")),
        }
    }
}

/// The roles of claimed values: what the operator maps them to, otherwise the values themselves.
fn mapped(claimed: Vec<String>, roles: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let role = |claimed: String| match roles.get(&claimed) {
        Some(roles) => roles.clone(),
        None if BUILT_IN.contains(&claimed.as_str()) => vec![],
        None => vec![claimed],
    };
    claimed.into_iter().flat_map(role).collect()
}

fn texts(claims: &Claims, name: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("Its claim `{name}` is neither a text nor a list of texts.");
    match find(claims, name) {
        None | Some(Json::Null) => Ok(vec![]),
        Some(Json::String(text)) => Ok(text.split_whitespace().map(str::to_owned).collect()),
        Some(Json::Array(values)) => {
            let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// A claim, or a member of one. A name with dots may be that of a claim: some are URLs.
fn find<'c>(claims: &'c Claims, name: &str) -> Option<&'c Json> {
    if let Some(claim) = claims.get(name) {
        return Some(claim);
    }
    let (first, rest) = name.split_once('.')?;
    find(claims.get(first)?.as_object()?, rest)
}

fn is_name(text: &str) -> bool {
    (1..=LENGTH_MAX).contains(&text.chars().count())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(json: Json) -> Claims {
        json.as_object().unwrap().clone()
    }

    #[test]
    fn a_claim_is_found_by_its_name_or_by_a_path() {
        let claims = claims(json!({
            "https://example.com/roles": ["a"], "realm": { "deep.er": 1, "roles": ["b"] },
        }));
        assert_eq!(find(&claims, "https://example.com/roles"), Some(&json!(["a"])));
        assert_eq!(find(&claims, "realm.roles"), Some(&json!(["b"])));
        assert_eq!(find(&claims, "realm.deep.er"), Some(&json!(1)));
        assert_eq!(find(&claims, "realm.other"), None);
    }

    #[test]
    fn built_in_roles_are_granted_by_the_operator_alone() {
        let names = ClaimNames { roles: Some("groups".to_owned()), ..ClaimNames::default() };
        let claims = claims(json!({ "sub": "ann", "groups": ["admin", "staff", "ops"] }));
        let plain = names.user(&claims, &BTreeMap::new()).unwrap();
        assert_eq!(plain, User::new("ann", ["staff", "ops"]));
        let mapped = BTreeMap::from([("ops".to_owned(), vec!["admin".to_owned()])]);
        assert_eq!(names.user(&claims, &mapped).unwrap(), User::new("ann", ["staff", "admin"]));
    }

    #[test]
    fn a_user_has_a_subject_and_a_tenant_that_are_texts() {
        let names = ClaimNames { tenant: Some("org".to_owned()), ..ClaimNames::default() };
        for wrong in [json!({}), json!({ "sub": "" }), json!({ "sub": 1 }), json!({ "sub": null })]
        {
            assert!(names.user(&claims(wrong), &BTreeMap::new()).is_err());
        }
        assert_eq!(names.tenant(&claims(json!({ "org": 7 }))), Ok(Some("7".to_owned())));
        assert!(names.tenant(&claims(json!({ "org": ["a"] }))).is_err());
        assert!(names.tenant(&claims(json!({}))).is_err());
    }
}
