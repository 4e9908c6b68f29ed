//! Access rules: who may read and change entities.

use std::collections::BTreeSet;

use super::id::FieldId;

/// Who may do what with the entities of one kind. Rules grant access to users; callers that may read or
/// write everything need none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The field that holds the subject an entity belongs to.
    pub owner: Option<FieldId>,
    /// Who may read them. Lists, counts and boards can have other readers.
    pub read: Grantees,
    /// Who may create them.
    pub create: Grantees,
    /// Who may change them.
    pub update: Grantees,
    /// Who may delete them.
    pub delete: Grantees,
}

/// The users that a rule admits; nobody by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grantees {
    /// Whether it admits all users.
    pub everyone: bool,
    /// Whether it admits the owner of an entity.
    pub owner: bool,
    /// Whether it admits those who may read the parent, for reading, or change it, for anything else.
    pub parent: bool,
    /// The roles that it admits.
    pub roles: BTreeSet<String>,
}

impl Grantees {
    /// Whether it admits nobody.
    pub fn is_empty(&self) -> bool {
        *self == Grantees::default()
    }
}
